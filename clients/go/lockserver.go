package holdfast

import (
	"context"
	"errors"
	"time"
)

// The calls of LockServer's SDK, for programs that were written for it:
//
//	lease, err := client.AcquireWithRetry(ctx, "job-lock", "worker-1", opts)
//	token := lease.FencingTokenValue()
//	hbErrs := client.StartHeartbeat(ctx, lease, hbOpts)
//	defer client.ReleaseOnce(ctx, lease)
//
// A new program has less to do with [Client.WithLock]: its lease renews itself, and whoever waits is
// served in order.

const (
	defaultMaxRetries = 50
	defaultMinRetry   = 25 * time.Millisecond
	defaultMaxRetry   = time.Second
	defaultJitter     = 0.2
	// heartbeatErrors is how many errors a heartbeat keeps for a reader who does not come.
	heartbeatErrors = 16
)

// RetryOptions says how [Client.AcquireWithRetry] asks for a lock. The zero value is good.
type RetryOptions struct {
	// TTL is how long the lease lasts when it is not renewed. Default: 30 s.
	TTL time.Duration
	// MaxRetries is how often the request is repeated. Default: 50. Negative: never.
	MaxRetries int
	// MinRetry and MaxRetry are bounds of the pauses, which the server recommends. Default: 25 ms and 1 s.
	MinRetry, MaxRetry time.Duration
	// Jitter makes each pause longer or shorter by up to this share of it. Default: 0.2. Negative: none.
	Jitter float64
	// MaxTotalWait ends the attempts after this time. Zero: only MaxRetries and the context do.
	MaxTotalWait time.Duration
	// As in [LockOptions].
	Shared   bool
	Limit    int
	Metadata string
}

func (o RetryOptions) withDefaults() RetryOptions {
	if o.MaxRetries == 0 {
		o.MaxRetries = defaultMaxRetries
	}
	if o.MinRetry <= 0 {
		o.MinRetry = defaultMinRetry
	}
	if o.MaxRetry <= 0 {
		o.MaxRetry = defaultMaxRetry
	}
	if o.MaxRetry < o.MinRetry {
		o.MaxRetry = o.MinRetry
	}
	if o.Jitter == 0 {
		o.Jitter = defaultJitter
	}
	o.Jitter = clampShare(o.Jitter)
	return o
}

func clampShare(share float64) float64 {
	if share < 0 {
		return 0
	}
	if share > 1 {
		return 1
	}
	return share
}

// pauseAfter is how long to wait after a refusal: as the server recommends, within the bounds.
func (o RetryOptions) pauseAfter(held *LockHeldError) time.Duration {
	pause := clamp(held.RetryAfter, o.MinRetry, o.MaxRetry)
	return time.Duration(float64(pause) * (1 + o.Jitter*(2*randomShare()-1)))
}

// AcquireWithRetry acquires a lock by repeated requests, without a place in the queue. An owner that is
// empty is that of the client. The error is an [ErrLockHeld] when there were enough attempts; when ctx
// ends, it is ctx.Err().
//
// Nothing renews the lease until [Client.StartHeartbeat].
func (c *Client) AcquireWithRetry(ctx context.Context, name, owner string, options RetryOptions) (*Lease, error) {
	options = options.withDefaults()
	request := LockOptions{
		TTL: options.TTL, Shared: options.Shared, Limit: options.Limit, Owner: owner, Metadata: options.Metadata,
	}
	begin := runningTime()
	for retries := 0; ; retries++ {
		granted, err := c.getGrant(ctx, Set(name), request, 0, "")
		if err == nil {
			return c.keep(granted, false)
		}
		var held *LockHeldError
		if !errors.As(err, &held) || retries >= options.MaxRetries {
			return nil, err
		}
		pause := options.pauseAfter(held)
		if options.MaxTotalWait > 0 && runningTime()-begin+pause > options.MaxTotalWait {
			return nil, err
		}
		if !sleep(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// HeartbeatOptions says how [Client.StartHeartbeat] renews a lease. The zero value is good.
type HeartbeatOptions struct {
	// ExtendBy is how long the lease lasts at least after each renewal. Default: the TTL that it was
	// granted for. A renewal never makes a lease shorter.
	ExtendBy time.Duration
	// Interval is the time between two renewals, at most half of ExtendBy. Default: a third of it.
	Interval time.Duration
}

// heartbeat is one reader of what happens to the renewals of a lease.
type heartbeat struct{ errs chan error }

// tell keeps the last errors for the reader.
func (h *heartbeat) tell(err error) {
	for {
		select {
		case h.errs <- err:
			return
		default:
		}
		select {
		case <-h.errs: // the oldest
		default:
		}
	}
}

// StartHeartbeat renews a lease of [Client.AcquireWithRetry] until it is released or lost, or ctx ends.
//
// The channel has an error for each renewal that failed; renewals go on after it. If the lease is lost,
// the last error is an [ErrLockLost]: stop the work. Then, and at every other end of the heartbeat, the
// channel is closed. It keeps the last 16 errors for a reader who is busy.
//
// Any other lease renews itself as before, and the channel tells of that.
func (c *Client) StartHeartbeat(ctx context.Context, lease *Lease, options HeartbeatOptions) <-chan error {
	beat := &heartbeat{errs: make(chan error, heartbeatErrors)}
	err := error(ErrNotLocked)
	if lease != nil {
		err = lease.Err()
	}
	if err != nil {
		beat.errs <- err
		close(beat.errs)
		return beat.errs
	}
	lease.begin(beat, options)
	go func() {
		select {
		case <-ctx.Done():
		case <-lease.ctx.Done():
		}
		lease.finish(beat)
	}()
	return beat.errs
}

func (l *Lease) begin(beat *heartbeat, options HeartbeatOptions) {
	l.mutex.Lock()
	l.heartbeats[beat] = true
	if !l.renewsItself {
		wanted := rhythm{extendBy: options.ExtendBy, interval: options.Interval}
		if wanted.extendBy <= 0 {
			wanted.extendBy = l.rhythm.extendBy
		}
		if wanted.interval <= 0 {
			wanted.interval = wanted.extendBy / 3
		}
		l.setRhythm(wanted)
		l.renewAt = l.lastsUntil.add(-l.info.TTL).add(l.rhythm.interval)
	}
	l.mutex.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (l *Lease) finish(beat *heartbeat) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.heartbeats, beat) // nobody else writes to the channel from now on
	if l.loss != nil {
		beat.tell(l.loss)
	}
	close(beat.errs)
}

// Release is [Lease.Release].
func (c *Client) Release(ctx context.Context, lease *Lease) error { return lease.Release(ctx) }

// ReleaseOnce is Release for a defer: it does nothing if the lease was released before, and nothing for
// a nil lease.
func (c *Client) ReleaseOnce(ctx context.Context, lease *Lease) error {
	if lease == nil {
		return nil
	}
	return lease.Release(ctx)
}
