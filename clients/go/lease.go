package holdfast

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	marginMax = 5 * time.Second
	// briefTimeout is for a release after the end of the context.
	briefTimeout = time.Second
)

// LeaseInfo is what can be told of a lease. The token is not in it.
type LeaseInfo struct {
	Scope        string      // as a text: "x", "range:7:0-4096"; of a set, the first one
	Scopes       []SetMember // all of them; their limits are not known
	Owner        string
	Shared       bool
	FencingToken uint64
	TTL          time.Duration
	Metadata     string
	Value        string    // of a candidacy
	Revision     uint64    // grows with every change of the value; 0 if there was never one
	AcquiredAt   time.Time // by the server's clock, for people only
	ExpiresAt    time.Time // the same
}

// Lease is a lock that is held. It renews itself until it is released or lost; a lease of
// [Client.AcquireWithRetry] is renewed only by [Client.StartHeartbeat]. Any number of goroutines may use
// it.
type Lease struct {
	client *Client
	token  secret
	lost   chan struct{}      // closed when the lease is lost
	ctx    context.Context    // ends when the lease is lost or released
	end    context.CancelFunc // of ctx
	waiter *waiter
	wake   chan struct{} // has an element when the watch must look at the fields below

	mutex           sync.Mutex
	info            LeaseInfo
	lastsUntil      instant
	guaranteedUntil instant
	endsBefore      instant // unless it is renewed: the server ends it no later
	rhythm          rhythm
	renewAt         instant // if it is renewed at all
	renewsItself    bool
	heartbeats      map[*heartbeat]bool
	problem         error          // of the last renewal, if it failed
	loss            *LockLostError // nil if the lease is not lost
	isReleased      bool
}

// rhythm is how a lease is renewed: every interval, so that it lasts for extendBy or longer.
type rhythm struct{ extendBy, interval time.Duration }

// keep watches over a lease from now on, and renews it if it renews itself.
func (c *Client) keep(granted *grant, renewsItself bool) (*Lease, error) {
	l := &Lease{
		client:       c,
		token:        granted.token,
		lost:         make(chan struct{}),
		waiter:       granted.waiter,
		wake:         make(chan struct{}, 1),
		renewsItself: renewsItself,
		heartbeats:   map[*heartbeat]bool{},
	}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.setRhythm(rhythm{extendBy: granted.info.TTL, interval: granted.info.TTL / 3})
	l.take(granted)
	if err := l.Err(); err != nil { // the last request took too long
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = l.Release(ended)
		return nil, err
	}
	go l.watch()
	return l, nil
}

// take writes down what a grant or a renewal says. REQUIRES: mutex, or nobody else has the lease yet.
func (l *Lease) take(granted *grant) {
	l.info = granted.info
	l.lastsUntil = granted.lastsUntil
	l.endsBefore = l.client.now().add(granted.info.TTL)
	l.guaranteedUntil = granted.lastsUntil.add(-clamp(granted.info.TTL/6, 0, marginMax))
	l.renewAt = granted.lastsUntil.add(-granted.info.TTL).add(l.rhythm.interval)
}

// FencingToken is larger than that of every grant before. Send it with every write.
func (l *Lease) FencingToken() uint64 { return l.Info().FencingToken }

// FencingTokenValue is FencingToken, and 0 for no lease: a resource that compares fencing tokens refuses
// that one.
func (l *Lease) FencingTokenValue() uint64 {
	if l == nil {
		return 0
	}
	return l.FencingToken()
}

// Token proves that its holder has the lease. It is secret: show it only to a program that passes it
// to [Client.Check].
func (l *Lease) Token() string { return l.token.reveal() }

// Info is the lease as it was last renewed.
func (l *Lease) Info() LeaseInfo {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.info
}

// Lost returns a channel that is closed when the lease is lost. A release does not close it.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err is nil while nobody else can hold the lock. It is a [*LockLostError] from the moment on in which
// the lease is lost, and [ErrNotLocked] after a release. It looks at the clock itself: it is right
// also in a process that was stopped and has just gone on.
func (l *Lease) Err() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lookAtClock()
	if l.loss != nil {
		return l.loss
	}
	if l.isReleased {
		return ErrNotLocked
	}
	return nil
}

// TimeLeft is how long the guarantee lasts without another renewal. It is never below zero.
func (l *Lease) TimeLeft() time.Duration {
	if l.Err() != nil {
		return 0
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return clamp(l.guaranteedUntil.sub(l.client.now()), 0, l.info.TTL)
}

// Release gives the lock back, and returns when that is certain. The error is an [ErrLockLost] if the
// lease was lost before: then the work under the lock may have been too late. If the error is an
// [ErrServerUnavailable], the lease ends after its TTL. Further calls do nothing.
//
// Release also gives the lock back if ctx has ended: it then makes one attempt, for a second at most.
func (l *Lease) Release(ctx context.Context) error {
	l.mutex.Lock()
	l.lookAtClock()
	loss, isReleased := l.loss, l.isReleased
	held := &grant{token: l.token, info: l.info, lastsUntil: l.lastsUntil}
	l.isReleased = true
	l.mutex.Unlock()
	l.end()
	if isReleased {
		return nil
	}
	defer l.waiter.end()
	if loss != nil && loss.isOver {
		return loss
	}
	err := l.client.release(ctx, held, false)
	if err != nil && ctx.Err() != nil {
		brief, cancel := context.WithTimeout(context.Background(), briefTimeout)
		defer cancel()
		err = l.client.release(brief, held, true)
	}
	if loss != nil {
		return loss
	}
	return err
}

// String never shows the token.
func (l *Lease) String() string {
	info := l.Info()
	state := "held"
	if err := l.Err(); err != nil {
		state = err.Error()
	}
	return fmt.Sprintf("holdfast.Lease(%s by %s, fencing token %d: %s)",
		info.Scope, info.Owner, info.FencingToken, state)
}

// Format prints String, whatever the verb.
func (l *Lease) Format(state fmt.State, _ rune) { fmt.Fprint(state, l.String()) }

// lookAtClock loses the lease if its guarantee has ended. REQUIRES: mutex.
func (l *Lease) lookAtClock() {
	if l.client.now() < l.guaranteedUntil {
		return
	}
	reason := "no renewal was confirmed in time"
	if l.problem != nil {
		reason += " (" + l.problem.Error() + ")"
	}
	l.lose(&LockLostError{Reason: reason})
}

// lose tells of the loss, once. REQUIRES: mutex.
func (l *Lease) lose(loss *LockLostError) {
	if l.loss != nil || l.isReleased {
		return
	}
	loss.Scope = l.info.Scope
	l.loss = loss
	close(l.lost)
	l.end()
}
