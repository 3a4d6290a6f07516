package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

func TestS1TakeRenewGiveBack(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client, other := connect(t, s.url()), connect(t, s.url())
	mutex := client.Mutex("x", holdfast.LockOptions{TTL: 6 * time.Second, Metadata: "note"})
	mustBe(t, mutex.Err(), holdfast.ErrNotLocked)
	mustBe(t, mutex.Unlock(ctx), holdfast.ErrNotLocked)
	must(t, mutex.Lock(ctx))
	first, info := mutex.FencingToken(), mutex.Lease().Info()
	if info.Scope != "x" || info.Owner != client.Owner() || info.Metadata != "note" ||
		info.TTL != 6*time.Second || !info.ExpiresAt.After(info.AcquiredAt) {
		t.Fatalf("the lease is %+v", info)
	}
	until(t, "the lease is renewed", func() bool {
		return mutex.Lease().Info().ExpiresAt.After(info.ExpiresAt)
	})
	must(t, mutex.Err())
	must(t, mutex.Unlock(ctx))
	if mutex.Locked() {
		t.Fatal("the mutex is locked after Unlock")
	}

	must(t, mutex.TryLock(ctx)) // the same object again
	if mutex.FencingToken() <= first {
		t.Fatalf("%d was granted after %d", mutex.FencingToken(), first)
	}
	must(t, mutex.Unlock(ctx))

	failure := errors.New("no paper")
	err := client.WithLock(ctx, "x", holdfast.LockOptions{}, func(ctx context.Context) error {
		if _, err := other.TryAcquire(ctx, "x", holdfast.LockOptions{}); !errors.Is(err, holdfast.ErrLockHeld) {
			t.Errorf("the lock was not held: %v", err)
		}
		if holdfast.FencingToken(ctx) <= first {
			t.Errorf("the fencing token is %d", holdfast.FencingToken(ctx))
		}
		return failure
	})
	mustBe(t, err, failure)
	func() {
		defer func() { recover() }()
		_ = client.WithLock(ctx, "x", holdfast.LockOptions{}, func(context.Context) error { panic("no ink") })
	}()
	cancelled, cancel := context.WithCancel(ctx)
	must(t, client.WithLock(cancelled, "x", holdfast.LockOptions{}, func(context.Context) error {
		cancel()
		return nil
	}))
	lease, err := other.TryAcquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	must(t, lease.Release(ctx))
	must(t, lease.Release(ctx))
	mustBe(t, lease.Err(), holdfast.ErrNotLocked)
}

func TestWorkWhoseEndTheServerCannotBeToldIsNoSuccess(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	client := connect(t, p.url(), func(options *holdfast.Options) { options.RetryFor = 200 * time.Millisecond })
	err := client.WithLock(ctx, "x", holdfast.LockOptions{}, func(context.Context) error {
		p.cut()
		return nil
	})
	mustBe(t, err, holdfast.ErrServerUnavailable)
	p.heal()
	failure := errors.New("no paper")
	err = client.WithLock(ctx, "y", holdfast.LockOptions{}, func(context.Context) error {
		p.cut()
		return failure
	})
	mustBe(t, err, failure)
}

func TestS2SomebodyElseHoldsIt(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	holder, client := connect(t, s.url(), named("holder")), connect(t, s.url())
	lease, err := holder.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	mutex := client.Mutex("x", holdfast.LockOptions{})
	err = mutex.TryLock(ctx)
	mustBe(t, err, holdfast.ErrLockHeld)
	var held *holdfast.LockHeldError
	if errors.Is(err, holdfast.ErrWaitTimedOut) || !errors.As(err, &held) {
		t.Fatalf("the error is %v", err)
	}
	if held.Scope != "x" || held.Holder != "holder" || held.RetryAfter <= 0 ||
		!held.ExpiresAt.Equal(lease.Info().ExpiresAt) {
		t.Fatalf("the error is %+v", held)
	}
	if mutex.Locked() || mutex.FencingToken() != 0 || len(leases(t, client)) != 1 {
		t.Fatal("something is held by the client")
	}
	must(t, lease.Release(ctx))
	must(t, mutex.TryLock(ctx))
	mustBe(t, mutex.TryLock(ctx), holdfast.ErrLockHeld)
	must(t, mutex.Unlock(ctx))
}

func TestS8TheServerIsRestarted(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	lease, err := connect(t, p.url()).Acquire(ctx, "x", holdfast.LockOptions{TTL: 12 * time.Second})
	must(t, err)
	s.restart(t)
	before := lease.Info().ExpiresAt
	until(t, "the lease is renewed", func() bool { return lease.Info().ExpiresAt.After(before) })
	must(t, lease.Err())
	select {
	case <-lease.Lost():
		t.Fatal("a loss was told")
	default:
	}
	if state := stateOf(t, s, "x"); state.FencingToken != lease.FencingToken() {
		t.Fatalf("the server holds %+v", state)
	}
	must(t, lease.Release(ctx))
}

func TestS9TheServerStaysAway(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	const ttl, margin = 18 * time.Second, 3 * time.Second
	client := connect(t, s.url())
	begin := time.Now()
	lease, err := client.Acquire(ctx, "x", holdfast.LockOptions{TTL: ttl})
	must(t, err)
	if left := lease.TimeLeft(); left > ttl-margin || left < ttl/2 {
		t.Fatalf("the guarantee lasts for %v", left)
	}
	s.kill()
	select {
	case <-lease.Lost():
	case <-time.After(patience):
		t.Fatal("no loss was told")
	}
	if after := time.Since(begin); after >= ttl || after < ttl/2 {
		t.Fatalf("the loss was told after %v", after)
	}
	mustBe(t, lease.Err(), holdfast.ErrLockLost)
	if lease.TimeLeft() != 0 {
		t.Fatal("there is time left")
	}
	mustBe(t, lease.Release(ctx), holdfast.ErrLockLost)
}

func TestS10TheLockIsTakenAway(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client, admin := connect(t, s.url()), connect(t, s.url())
	options := holdfast.LockOptions{TTL: 12 * time.Second}
	begin := time.Now()
	failure := errors.New("interrupted")
	var token string
	err := client.WithLock(ctx, "x", options, func(ctx context.Context) error {
		lease := holdfast.LeaseOf(ctx)
		token = lease.Token()
		if ended, err := admin.ForceRelease(ctx, "x"); ended != 1 || err != nil {
			t.Errorf("%d leases have ended: %v", ended, err)
		}
		<-ctx.Done()
		<-lease.Lost()
		if !errors.Is(lease.Err(), holdfast.ErrLockLost) {
			t.Errorf("the lease is %v", lease)
		}
		return failure
	})
	mustBe(t, err, holdfast.ErrLockLost)
	mustBe(t, err, failure)
	if after := time.Since(begin); after >= 10*time.Second {
		t.Fatalf("the loss was told after %v, not with the next renewal", after)
	}
	_, err = client.Check(ctx, token, "x")
	mustBe(t, err, holdfast.ErrLockLost)

	mutex := client.Mutex("x", options)
	must(t, mutex.Lock(ctx))
	if ended, err := admin.ForceRelease(ctx, "x"); ended != 1 || err != nil {
		t.Fatalf("%d leases have ended: %v", ended, err)
	}
	mustBe(t, mutex.Unlock(ctx), holdfast.ErrLockLost) // also before a renewal
	must(t, mutex.Lock(ctx))
	must(t, mutex.Unlock(ctx))
	if ended, err := admin.ForceRelease(ctx, "x"); ended != 0 || err != nil {
		t.Fatalf("%d leases have ended: %v", ended, err)
	}
}
