package holdfast

import (
	"context"
	"time"
)

const (
	pauseMin    = 50 * time.Millisecond
	pauseMax    = time.Second
	pauseJitter = 0.2
)

// patience decides when a failed request is repeated: the first time at once, then after longer and
// longer pauses, until nothing but failures happened for retryFor.
type patience struct {
	retryFor time.Duration
	isTried  bool          // there was a failure since the last answer
	until    time.Duration // in running time
	delay    time.Duration
}

// pause sleeps until the next attempt, for atLeast if the server asked for that. It returns false if
// there must be no further attempt.
func (p *patience) pause(ctx context.Context, atLeast time.Duration) bool {
	now := runningTime()
	if !p.isTried {
		p.isTried = true
		p.until = now + p.retryFor
	}
	delay := time.Duration(float64(p.delay) * (1 + pauseJitter*randomShare()))
	if delay < atLeast {
		delay = atLeast
	}
	if now+delay >= p.until {
		return false
	}
	p.delay = clamp(2*p.delay, pauseMin, pauseMax)
	return sleep(ctx, delay)
}

// reset begins anew, after an answer.
func (p *patience) reset() { *p = patience{retryFor: p.retryFor} }

// extend begins the time anew, but keeps the pauses long: after an answer that may be of no use.
func (p *patience) extend() { p.isTried = false }

// sleep returns false if ctx ended before the time did.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

func clamp(d, lowest, highest time.Duration) time.Duration {
	if d < lowest {
		return lowest
	}
	if d > highest {
		return highest
	}
	return d
}
