package holdfast

import (
	"context"
	"errors"
	"net/http"
	"time"
)

const (
	defaultTTL = 30 * time.Second
	// answerMax: the server answers after this time at the latest. To wait longer, we ask again.
	answerMax = 10 * time.Minute
	// endlessWait: to the server, and so to us, a wait of this length has no end.
	endlessWait = 365 * 24 * time.Hour
	// For how long we try to end an acquisition that was cancelled, and for how long each time.
	abandonFor     = 3 * time.Second
	abandonTimeout = time.Second
)

// LockOptions says how a lock is asked for. The zero value is good.
type LockOptions struct {
	// TTL is how long the lease lasts when it is not renewed any more. Default: 30 s.
	TTL time.Duration
	// Wait limits the wait in the queue. Zero: only the context limits it.
	Wait time.Duration
	// Shared: several shared leases may be held at the same time.
	Shared bool
	// Limit above 1 makes a name a semaphore with so many permits, of which this is one.
	Limit int
	// Owner is shown to others. Default: the owner of the client.
	Owner string
	// Metadata is shown with the lease, at most 1024 bytes.
	Metadata string
	// OnDeadlock says what becomes of a wait that would be a deadlock. Default: it is refused.
	OnDeadlock OnDeadlock
	// Waiter names who waits, for the server's search for deadlocks. Default: that of [WithWaiter], or
	// of the [Client.WithLock] that the context belongs to, or a new one.
	Waiter string
	// RequestID: requests with the same id have the effect of one, so that a program that was
	// restarted finds the lease that it had. Good for one grant. Default: a new one for each.
	RequestID string
}

// OnDeadlock says what becomes of a wait that would be a deadlock.
type OnDeadlock int

const (
	// RefuseDeadlock: the error is an [ErrDeadlock].
	RefuseDeadlock OnDeadlock = iota
	// WaitInDeadlock: the wait goes on, until somebody else gives way.
	WaitInDeadlock
)

// word is what the server calls it.
func (o OnDeadlock) word() string {
	if o == WaitInDeadlock {
		return "tell"
	}
	return "refuse"
}

// Acquire waits in the queue for a lock, and returns its lease, which renews itself until
// [Lease.Release]. The scope is a name, or one of "named:x", "path:/x", "inode:7", "range:7:0-4096"
// and "semaphore:x".
//
// The error is an [ErrWaitTimedOut] after options.Wait, and an [ErrDeadlock] if the wait would be one.
// When ctx ends, it is ctx.Err(). Nothing is held then, unless the server does not answer for three
// seconds; a lease that was granted meanwhile ends after its TTL.
func (c *Client) Acquire(ctx context.Context, scope string, options LockOptions) (*Lease, error) {
	return c.acquire(ctx, Set(scope), options, options.wait())
}

// TryAcquire does not wait, and does not overtake waiters. The error is an [ErrLockHeld] if the lock
// is not free.
func (c *Client) TryAcquire(ctx context.Context, scope string, options LockOptions) (*Lease, error) {
	return c.acquire(ctx, Set(scope), options, 0)
}

func (c *Client) acquire(ctx context.Context, set []SetMember, options LockOptions, wait time.Duration) (
	*Lease, error) {
	return c.acquireAs(ctx, set, options, wait, "")
}

// acquireAs acquires a lease with the value of a candidacy.
func (c *Client) acquireAs(ctx context.Context, set []SetMember, options LockOptions, wait time.Duration,
	value string) (*Lease, error) {
	granted, err := c.getGrant(ctx, set, options, wait, value)
	if err != nil {
		return nil, err
	}
	return c.keep(granted, true)
}

// getGrant acquires a lease that nobody watches over yet.
func (c *Client) getGrant(ctx context.Context, set []SetMember, options LockOptions, wait time.Duration,
	value string) (*grant, error) {
	request, err := c.newAcquireRequest(set, options)
	if err == nil {
		err = requireUTF8(value, options.Waiter)
	}
	if err != nil {
		return nil, err
	}
	waiter := c.beginWait(ctx, options.Waiter)
	request.Waiter, request.Value = waiter.identity, value
	a := acquisition{
		client: c, request: request, hasOwnID: options.RequestID == "", wait: wait, patience: c.patience(),
	}
	granted, err := a.run(ctx)
	if err != nil {
		waiter.end()
		return nil, err
	}
	granted.waiter = waiter
	return granted, nil
}

// acquireRequest is the body of the request.
type acquireRequest struct {
	Scope      string       `json:"scope,omitempty"`
	Scopes     []memberJSON `json:"scopes,omitempty"`
	Holder     string       `json:"holder"`
	TTLMs      int64        `json:"ttl_ms"`
	RequestID  string       `json:"request_id"`
	WaitMs     int64        `json:"wait_ms"`
	Waiter     string       `json:"waiter"`
	OnDeadlock string       `json:"on_deadlock"`
	Mode       string       `json:"mode,omitempty"`
	Limit      int          `json:"limit,omitempty"`
	Metadata   string       `json:"metadata,omitempty"`
	Value      string       `json:"value,omitempty"`
}

func (c *Client) newAcquireRequest(set []SetMember, options LockOptions) (acquireRequest, error) {
	request := acquireRequest{
		Holder:     options.Owner,
		TTLMs:      options.TTL.Milliseconds(),
		RequestID:  options.RequestID,
		OnDeadlock: options.OnDeadlock.word(),
		Metadata:   options.Metadata,
	}
	if request.Holder == "" {
		request.Holder = c.options.Owner
	}
	if options.TTL == 0 {
		request.TTLMs = defaultTTL.Milliseconds()
	}
	if request.TTLMs <= 0 {
		return request, invalid("a lease must last for a millisecond at least")
	}
	if options.Shared {
		request.Mode = "shared"
	}
	if err := request.setScopes(set, options.Limit); err != nil {
		return request, err
	}
	return request, requireUTF8(request.Holder, request.Metadata, request.RequestID)
}

// setScopes says what is asked for. A set of one is a usual lease. The limit is that of the options.
func (r *acquireRequest) setScopes(set []SetMember, limit int) error {
	if len(set) == 0 {
		return invalid("there is nothing to lock in an empty set")
	}
	if len(set) > 1 && limit != 0 {
		return invalid("the limit of a set belongs to one of its members")
	}
	for _, member := range set {
		if member.Limit == 0 {
			member.Limit = limit
		}
		element, err := newMemberJSON(member)
		if err != nil {
			return err
		}
		r.Scopes = append(r.Scopes, element)
	}
	if len(set) == 1 {
		only := r.Scopes[0]
		r.Scopes, r.Scope, r.Limit = nil, only.Scope, only.Limit
		if only.Mode != "" {
			r.Mode = only.Mode
		}
	}
	return nil
}

// grant is a lease that the server has granted.
type grant struct {
	token      secret
	info       LeaseInfo
	waiter     *waiter
	lastsUntil instant // the server ends the lease no earlier, unless it is told to
}

// acquisition is one attempt to get a lease, from the first request to the grant or the refusal.
//
// All its requests have the same id, so that the server does them once. While an answer is missing,
// nobody knows whether we hold the lease. Stopping then takes one more request, and a release if the
// lease was granted.
type acquisition struct {
	client   *Client
	request  acquireRequest
	hasOwnID bool // the id is not the program's
	wait     time.Duration
	deadline instant
	sentAt   instant // the first request with this id
	patience patience
	mayHold  bool // perhaps we have the lease, or a place in the queue
}

func (a *acquisition) run(ctx context.Context) (*grant, error) {
	a.beginAnew()
	a.deadline = a.sentAt.add(a.wait)
	for ctx.Err() == nil {
		answer, failure := a.client.exchange.askOnce(ctx, a.ask(a.waitLeft()))
		if failure == nil {
			a.mayHold = false
			if answer.Code != "Cancelled" {
				a.patience.reset()
			}
			grant, isDone, err := a.judge(ctx, answer)
			if isDone {
				return grant, err
			}
			continue
		}
		a.mayHold = a.mayHold || failure.mayHaveEffect
		if ctx.Err() != nil {
			break
		}
		if failure.isFinal || (!a.patience.pause(ctx, failure.retryAfter) && ctx.Err() == nil) {
			return nil, failure.err
		}
	}
	if a.mayHold {
		a.abandon()
	}
	return nil, ctx.Err()
}

func (a *acquisition) beginAnew() {
	if a.hasOwnID {
		a.request.RequestID = newRequestID()
	}
	a.sentAt = a.client.now()
}

func (a *acquisition) ask(wait time.Duration) ask {
	a.request.WaitMs = wait.Milliseconds()
	return ask{
		method:  http.MethodPost,
		target:  "/v1/leases",
		body:    a.request,
		timeout: a.client.options.Timeout + clamp(wait, 0, answerMax),
	}
}

func (a *acquisition) waitLeft() time.Duration {
	if a.wait == endlessWait {
		return endlessWait
	}
	left := a.deadline.sub(a.client.now()) + time.Millisecond - 1 // rounded up
	return clamp(left, 0, endlessWait).Truncate(time.Millisecond)
}

// judge returns the result of the acquisition, unless the request must be repeated.
func (a *acquisition) judge(ctx context.Context, answer *answer) (_ *grant, isDone bool, _ error) {
	if answer.status == http.StatusOK {
		return a.accept(ctx, answer)
	}
	switch answer.Code {
	case "RequestEnded":
		if a.hasOwnID { // our lease has ended already
			a.beginAnew()
			return nil, false, nil
		}
	case "StillWaiting": // repeated in time, the request keeps its place
		a.mayHold = true
		return nil, false, nil
	case "WaitTimedOut":
		// Asked once more without a wait, the server names the holder.
		if a.request.WaitMs > 0 && (answer.Holder == "" || a.waitLeft() > 0) {
			return nil, false, nil
		}
	case "Cancelled":
		if a.patience.pause(ctx, pauseMin) || ctx.Err() != nil {
			return nil, false, nil
		}
		return nil, true, &RequestError{Kind: ErrServerUnavailable, Server: answer.server, Status: answer.status,
			Code: answer.Code, Message: answer.message()}
	}
	err := answer.failure()
	var held *LockHeldError
	if errors.As(err, &held) && a.wait > 0 {
		held.TimedOut = true
	}
	return nil, true, err
}

// accept reads the lease. If the answer took long, or the id is not ours, we do not know when the
// lease began. Then the lease is renewed, because a renewal tells how long it lasts.
func (a *acquisition) accept(ctx context.Context, answer *answer) (_ *grant, isDone bool, _ error) {
	info, err := answer.lease()
	if err == nil && answer.Token == "" {
		err = notHoldfast(answer.server, answer.status, "the lease has no token")
	}
	if err != nil {
		return nil, true, err
	}
	granted := &grant{token: newSecret(answer.Token), info: info, lastsUntil: a.sentAt.add(info.TTL)}
	if a.hasOwnID && a.client.now().sub(a.sentAt) < info.TTL/3 {
		return granted, true, nil
	}
	a.mayHold = true
	ttl := time.Duration(a.request.TTLMs) * time.Millisecond
	err = a.client.renew(ctx, granted, ttl)
	if err == nil {
		return granted, true, nil
	}
	if ctx.Err() != nil {
		return nil, false, nil
	}
	if errors.Is(err, ErrLockLost) && a.hasOwnID {
		a.mayHold = false
		a.beginAnew()
		return nil, false, nil
	}
	return nil, true, err
}

// abandon makes the same request without a wait. It either finds the lease that was granted, or
// leaves the queue.
func (a *acquisition) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonFor)
	defer cancel()
	patience := patience{retryFor: abandonFor}
	last := a.ask(0)
	last.timeout = abandonTimeout
	answer, failure := a.client.exchange.askOnce(ctx, last)
	for failure != nil {
		if failure.isFinal || !patience.pause(ctx, failure.retryAfter) {
			return
		}
		answer, failure = a.client.exchange.askOnce(ctx, last)
	}
	if answer.Token != "" {
		granted := &grant{token: newSecret(answer.Token), lastsUntil: a.client.now().add(abandonFor)}
		_ = a.client.release(ctx, granted, false)
	}
}
