package holdfast

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

const (
	// The clock of a lease goes on while the machine sleeps, and timers do not. So it is looked at
	// often.
	lookInterval = time.Second
	// A lease may last longer than we can be sure of: a release has this time at least.
	releaseTimeoutMin = time.Second
)

func leasePath(token secret) string { return "/v1/leases/" + url.PathEscape(token.reveal()) }

// renewOnce asks the server once, and waits for its answer. The grant is changed if there is one.
func (c *Client) renewOnce(ctx context.Context, lease *grant, ttl, timeout time.Duration) *noAnswer {
	sentAt := c.now()
	answer, failure := c.exchange.askOnce(ctx, ask{
		method:  http.MethodPost,
		target:  leasePath(lease.token) + "/renew",
		body:    map[string]int64{"ttl_ms": ttl.Milliseconds()},
		timeout: timeout,
	})
	if failure != nil {
		return failure
	}
	if answer.status != http.StatusOK {
		return &noAnswer{err: answer.failure(), isFinal: true}
	}
	info, err := answer.lease()
	if err != nil {
		return &noAnswer{err: err, isFinal: true}
	}
	lease.info = info
	lease.lastsUntil = sentAt.add(info.TTL)
	return nil
}

// renew repeats the renewal until there is an answer.
func (c *Client) renew(ctx context.Context, lease *grant, ttl time.Duration) error {
	patience := c.patience()
	for {
		failure := c.renewOnce(ctx, lease, ttl, c.options.Timeout)
		if failure == nil {
			return nil
		}
		if failure.isFinal || !patience.pause(ctx, failure.retryAfter) {
			return failure.err
		}
	}
}

// release ends the lease. If an answer was lost and the repetition finds no lease, the lease counts as
// released; mayBeDone is true if there was a request before this call.
func (c *Client) release(ctx context.Context, lease *grant, mayBeDone bool) error {
	patience := patience{retryFor: clamp(lease.lastsUntil.sub(c.now()), 0, c.patience().retryFor)}
	for {
		left := clamp(lease.lastsUntil.sub(c.now()), releaseTimeoutMin, c.options.Timeout)
		answer, failure := c.exchange.askOnce(ctx, ask{
			method: http.MethodDelete, target: leasePath(lease.token), timeout: left,
		})
		if failure != nil {
			mayBeDone = mayBeDone || failure.mayHaveEffect
			if failure.isFinal || !patience.pause(ctx, failure.retryAfter) {
				return failure.err
			}
			continue
		}
		if answer.status == http.StatusOK || (answer.isOver() && mayBeDone) {
			return nil
		}
		err := answer.failure()
		var lost *LockLostError
		if errors.As(err, &lost) {
			lost.Scope = lease.info.Scope
		}
		return err
	}
}

// setRhythm says how the lease is renewed from now on. At least two renewals fit into the time for which
// it is extended. REQUIRES: mutex, or nobody else has the lease yet.
func (l *Lease) setRhythm(wanted rhythm) {
	l.rhythm = rhythm{wanted.extendBy, clamp(wanted.interval, time.Millisecond, wanted.extendBy/2)}
}

// watch renews the lease while it is to be renewed, and loses it when its guarantee ends. A renewal that
// hangs does not keep it from noticing that.
func (l *Lease) watch() {
	renewed := make(chan struct{}, 1)
	isRenewing := false
	for l.Err() == nil {
		next := clamp(l.TimeLeft(), 0, lookInterval)
		if !isRenewing {
			wait := l.untilRenewal()
			if isRenewing = wait <= 0; isRenewing {
				go func() {
					l.renewNow()
					renewed <- struct{}{}
				}()
			} else {
				next = clamp(wait, 0, next)
			}
		}
		timer := time.NewTimer(next)
		select {
		case <-l.ctx.Done():
		case <-l.wake:
		case <-renewed:
			isRenewing = false
		case <-timer.C:
		}
		timer.Stop()
	}
}

// untilRenewal is when to renew next. If nobody wants that, it is later than the watch looks again.
func (l *Lease) untilRenewal() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.renewsItself && len(l.heartbeats) == 0 {
		return 2 * lookInterval
	}
	return l.renewAt.sub(l.client.now())
}

// renewNow renews the lease once. It never makes the lease shorter.
func (l *Lease) renewNow() {
	timeout := clamp(l.TimeLeft(), time.Millisecond, l.client.options.Timeout)
	l.mutex.Lock()
	ttl := l.endsBefore.sub(l.client.now()) + time.Millisecond - 1 // rounded up
	if ttl < l.rhythm.extendBy {
		ttl = l.rhythm.extendBy
	}
	l.mutex.Unlock()
	renewed := &grant{token: l.token}
	failure := l.client.renewOnce(l.ctx, renewed, ttl, timeout)

	l.mutex.Lock()
	defer l.mutex.Unlock()
	if failure != nil {
		l.problem = failure.err
		var lost *LockLostError
		if errors.As(failure.err, &lost) {
			l.lose(lost)
			return
		}
		for beat := range l.heartbeats {
			beat.tell(failure.err)
		}
		l.renewAt = l.client.now().add(l.rhythm.interval / 4)
		return
	}
	l.lookAtClock() // a guarantee that has ended does not come back
	l.problem = nil
	if renewed.info.Revision < l.info.Revision { // the value was changed meanwhile
		renewed.info.Value, renewed.info.Revision = l.info.Value, l.info.Revision
	}
	l.take(renewed)
}
