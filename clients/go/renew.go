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

// renewUntilTheEnd is the heartbeat of a lease. A renewal that hangs does not keep it from noticing
// that the guarantee has ended.
func (l *Lease) renewUntilTheEnd() {
	renewAt := l.lastsUntil.add(-l.ttl).add(l.ttl / 3)
	renewed := make(chan instant, 1)
	isRenewing := false
	for l.Err() == nil {
		now := l.client.now()
		if !isRenewing && now >= renewAt {
			isRenewing = true
			go func() { renewed <- l.renewNow() }()
		}
		next := clamp(l.TimeLeft(), 0, lookInterval)
		if !isRenewing {
			next = clamp(renewAt.sub(now), 0, next)
		}
		timer := time.NewTimer(next)
		select {
		case <-l.ctx.Done():
		case renewAt = <-renewed:
			isRenewing = false
		case <-timer.C:
		}
		timer.Stop()
	}
}

// renewNow renews the lease once, and returns when it is to be renewed next.
func (l *Lease) renewNow() instant {
	timeout := clamp(l.TimeLeft(), time.Millisecond, l.client.options.Timeout)
	renewed := &grant{token: l.token}
	failure := l.client.renewOnce(l.ctx, renewed, l.ttl, timeout)

	l.mutex.Lock()
	defer l.mutex.Unlock()
	if failure != nil {
		l.problem = failure.err
		var lost *LockLostError
		if errors.As(failure.err, &lost) {
			l.lose(lost)
		}
		return l.client.now().add(l.ttl / 3 / 4)
	}
	l.lookAtClock() // a guarantee that has ended does not come back
	l.problem = nil
	if renewed.info.Revision < l.info.Revision { // the value was changed meanwhile
		renewed.info.Value, renewed.info.Revision = l.info.Value, l.info.Revision
	}
	l.info = renewed.info
	l.lastsUntil = renewed.lastsUntil
	l.guaranteedUntil = renewed.lastsUntil.add(-l.margin)
	return renewed.lastsUntil.add(-l.ttl).add(l.ttl / 3)
}
