package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// taking is an acquisition in a goroutine.
type taking struct {
	lease chan *holdfast.Lease
	err   chan error
}

func take(ctx context.Context, client *holdfast.Client, scope string, options holdfast.LockOptions) taking {
	result := taking{make(chan *holdfast.Lease, 1), make(chan error, 1)}
	go func() {
		lease, err := client.Acquire(ctx, scope, options)
		result.lease <- lease
		result.err <- err
	}()
	return result
}

func (r taking) wait(t testing.TB) *holdfast.Lease {
	t.Helper()
	lease := <-r.lease
	must(t, <-r.err)
	return lease
}

func TestS3WaitInTheQueue(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	first, err := client.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	early := take(ctx, connect(t, s.url(), named("early")), "x", holdfast.LockOptions{})
	untilQueued(t, s, "x", 1)
	late := take(ctx, connect(t, s.url(), named("late")), "x", holdfast.LockOptions{})
	untilQueued(t, s, "x", 2)
	must(t, first.Release(ctx))
	second := early.wait(t)
	if len(late.lease) != 0 || stateOf(t, s, "x").Owner != "early" {
		t.Fatal("the late one was served first")
	}
	must(t, second.Release(ctx))
	third := late.wait(t)
	if !(first.FencingToken() < second.FencingToken() && second.FencingToken() < third.FencingToken()) {
		t.Fatal("the fencing tokens do not grow")
	}
	must(t, third.Release(ctx))
}

func TestS3ALongWaitGivesAWholeLease(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	first, err := connect(t, s.url()).Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	const ttl = 6 * time.Second
	waiting := take(ctx, connect(t, s.url()), "x", holdfast.LockOptions{TTL: ttl})
	untilQueued(t, s, "x", 1)
	time.Sleep(ttl + time.Second)
	must(t, first.Release(ctx))
	second := waiting.wait(t)
	must(t, second.Err())
	if second.TimeLeft() < ttl/3 {
		t.Fatalf("only %v are left", second.TimeLeft())
	}
	must(t, second.Release(ctx))
}

func TestS4AWaitThatEnds(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	first, err := connect(t, s.url(), named("holder")).Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	begin := time.Now()
	mutex := connect(t, s.url()).Mutex("x", holdfast.LockOptions{Wait: time.Second})
	err = mutex.Lock(ctx)
	mustBe(t, err, holdfast.ErrWaitTimedOut)
	mustBe(t, err, holdfast.ErrLockHeld)
	var held *holdfast.LockHeldError
	if !errors.As(err, &held) || held.Holder != "holder" || held.ExpiresAt.IsZero() {
		t.Fatalf("the error is %+v", err)
	}
	if after := time.Since(begin); after < time.Second || after > 20*time.Second {
		t.Fatalf("the wait ended after %v", after)
	}
	if state := stateOf(t, s, "x"); state.QueueLength != 0 {
		t.Fatalf("the server has %+v", state)
	}
	must(t, first.Release(ctx))
	if stateOf(t, s, "x").Held {
		t.Fatal("a ghost has the lock")
	}

	must(t, mutex.Lock(ctx))
	mustBe(t, mutex.Lock(ctx), holdfast.ErrWaitTimedOut) // another goroutine has locked this object
	must(t, mutex.Unlock(ctx))
}

func TestS5AWaitThatIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	first, err := connect(t, s.url()).Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	waiting, cancel := context.WithCancel(ctx)
	second := take(waiting, connect(t, s.url()), "x", holdfast.LockOptions{})
	untilQueued(t, s, "x", 1)
	begin := time.Now()
	cancel()
	mustBe(t, <-second.err, context.Canceled)
	if after := time.Since(begin); after > 10*time.Second {
		t.Fatalf("it took %v to cancel", after)
	}
	if state := stateOf(t, s, "x"); state.QueueLength != 0 {
		t.Fatalf("the server has %+v", state)
	}
	late, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	mustBe(t, connect(t, s.url()).Mutex("x", holdfast.LockOptions{}).Lock(late), context.DeadlineExceeded)
	must(t, first.Release(ctx))
	if stateOf(t, s, "x").Held {
		t.Fatal("a ghost has the lock")
	}
}

func TestS5WhatWasGrantedMeanwhileIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	p.loseAnswers(1, true)
	asking, cancel := context.WithCancel(ctx)
	result := take(asking, connect(t, p.url()), "x", holdfast.LockOptions{TTL: time.Hour})
	until(t, "the lock is granted", func() bool { return p.lostAnswers() == 1 && stateOf(t, s, "x").Held })
	cancel()
	mustBe(t, <-result.err, context.Canceled)
	if stateOf(t, s, "x").Held {
		t.Fatal("a ghost has the lock")
	}
}

func TestS5AServerThatIsAwayForAMomentIsToldNevertheless(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	p.loseAnswers(1, true)
	asking, cancel := context.WithCancel(ctx)
	result := take(asking, connect(t, p.url()), "x", holdfast.LockOptions{TTL: time.Hour})
	until(t, "the lock is granted", func() bool { return p.lostAnswers() == 1 && stateOf(t, s, "x").Held })
	p.cut()
	cancel()
	time.Sleep(300 * time.Millisecond)
	p.heal()
	mustBe(t, <-result.err, context.Canceled)
	if stateOf(t, s, "x").Held {
		t.Fatal("a ghost has the lock")
	}
}
