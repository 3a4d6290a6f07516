package holdfast

import (
	"context"
	"errors"
)

type leaseKey struct{}

// WithLock calls work while the lock is held. The context of work ends when ctx does, and when the
// lock is lost. [FencingToken] and [LeaseOf] find the lease in it. The lock is given back whatever
// work does, also if it panics.
//
// The error is that of [Client.Acquire], or that of work. If the lock was lost before work returned, it
// is an [ErrLockLost] that wraps the error of work: what work did may have been too late. If work
// returned nil and the server does not answer to the release, it is an [ErrServerUnavailable]: the
// lease ends after its TTL, and nobody knows whether somebody had taken the lock away before.
func (c *Client) WithLock(ctx context.Context, scope string, options LockOptions,
	work func(ctx context.Context) error) error {
	return c.withLock(ctx, Set(scope), options, work)
}

func (c *Client) withLock(ctx context.Context, set []SetMember, options LockOptions,
	work func(ctx context.Context) error) error {
	lease, err := c.AcquireSet(ctx, set, options)
	if err != nil {
		return err
	}
	defer lease.Release(ctx) // if work panics
	inner, cancel := context.WithCancel(context.WithValue(ctx, leaseKey{}, lease))
	defer cancel()
	inner, endBlock := c.within(inner, lease.waiter)
	defer endBlock() // before the release
	go func() {
		select {
		case <-lease.Lost():
			cancel()
		case <-inner.Done():
		}
	}()
	err = work(inner)
	endBlock()
	released := lease.Release(ctx)
	if err == nil {
		return released
	}
	var loss *LockLostError
	if errors.As(released, &loss) && !errors.Is(err, ErrLockLost) {
		return &LockLostError{Scope: loss.Scope, Reason: loss.Reason, isOver: loss.isOver, work: err}
	}
	return err
}

// LeaseOf is the lease of the [Client.WithLock] that ctx belongs to. It is nil outside of one.
func LeaseOf(ctx context.Context) *Lease {
	lease, _ := ctx.Value(leaseKey{}).(*Lease)
	return lease
}

// FencingToken is that of the lease of ctx. It is 0 outside of [Client.WithLock].
func FencingToken(ctx context.Context) uint64 {
	if lease := LeaseOf(ctx); lease != nil {
		return lease.FencingToken()
	}
	return 0
}
