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
	// RequestID: requests with the same id have the effect of one, so that a program that was
	// restarted finds the lease that it had. Good for one grant. Default: a new one for each.
	RequestID string
}

// Acquire waits in the queue for a lock, and returns its lease, which renews itself until
// [Lease.Release]. The scope is a name, or one of "named:x", "path:/x", "inode:7", "range:7:0-4096"
// and "semaphore:x".
//
// The error is an [ErrWaitTimedOut] after options.Wait. When ctx ends, it is ctx.Err(). Nothing is
// held then, unless the server does not answer for three seconds; a lease that was granted meanwhile
// ends after its TTL.
func (c *Client) Acquire(ctx context.Context, scope string, options LockOptions) (*Lease, error) {
	wait := options.Wait
	if wait <= 0 || wait > endlessWait {
		wait = endlessWait
	}
	return c.acquire(ctx, scope, options, wait)
}

// TryAcquire does not wait, and does not overtake waiters. The error is an [ErrLockHeld] if the lock
// is not free.
func (c *Client) TryAcquire(ctx context.Context, scope string, options LockOptions) (*Lease, error) {
	return c.acquire(ctx, scope, options, 0)
}

func (c *Client) acquire(ctx context.Context, scope string, options LockOptions, wait time.Duration) (
	*Lease, error) {
	request, err := c.newAcquireRequest(scope, options)
	if err != nil {
		return nil, err
	}
	a := acquisition{
		client: c, request: request, hasOwnID: options.RequestID == "", wait: wait, patience: c.patience(),
	}
	grant, err := a.run(ctx)
	if err != nil {
		return nil, err
	}
	return c.keep(grant)
}

// acquireRequest is the body of the request.
type acquireRequest struct {
	Scope     string `json:"scope"`
	Holder    string `json:"holder"`
	TTLMs     int64  `json:"ttl_ms"`
	RequestID string `json:"request_id"`
	WaitMs    int64  `json:"wait_ms"`
	Mode      string `json:"mode,omitempty"`
	Limit     int    `json:"limit,omitempty"`
	Metadata  string `json:"metadata,omitempty"`
}

func (c *Client) newAcquireRequest(scope string, options LockOptions) (acquireRequest, error) {
	request := acquireRequest{
		Holder:    options.Owner,
		TTLMs:     options.TTL.Milliseconds(),
		RequestID: options.RequestID,
		Metadata:  options.Metadata,
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
	var err error
	if request.Scope, err = withLimit(scope, options.Limit); err != nil {
		return request, err
	}
	if kind, _ := splitScope(request.Scope); kind == "semaphore" {
		request.Limit = options.Limit
	}
	return request, requireUTF8(scope, request.Holder, request.Metadata, request.RequestID)
}

// grant is a lease that the server has granted.
type grant struct {
	token      secret
	info       LeaseInfo
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
