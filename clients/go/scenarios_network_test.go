package holdfast_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

func TestS6TheAnswerOfAnAcquireIsLost(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	near, far := connect(t, s.url()), connect(t, p.url())
	p.loseAnswers(2, false)
	lease, err := far.Acquire(ctx, "s", holdfast.LockOptions{Limit: 3})
	must(t, err)
	if p.lostAnswers() != 2 {
		t.Fatalf("%d answers were lost", p.lostAnswers())
	}
	all := leases(t, near)
	if len(all) != 1 || all[0].FencingToken != lease.FencingToken() || all[0].Scope != "semaphore:s" {
		t.Fatalf("there are %+v", all)
	}

	first, err := near.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	waiting := take(ctx, far, "x", holdfast.LockOptions{})
	untilQueued(t, s, "x", 1)
	p.loseAnswers(1, false)
	must(t, first.Release(ctx))
	second := waiting.wait(t)
	if p.lostAnswers() != 3 || stateOf(t, s, "x").FencingToken != second.FencingToken() {
		t.Fatal("the wait was granted twice")
	}
}

func TestS6ALeaseIsFoundByAnIDOfTheProgram(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	options := holdfast.LockOptions{RequestID: "job-17", Owner: "worker"}
	first, err := connect(t, s.url()).Acquire(ctx, "x", options)
	must(t, err)
	again, err := connect(t, s.url()).Acquire(ctx, "x", options)
	must(t, err)
	if first.FencingToken() != again.FencingToken() {
		t.Fatal("there are two leases")
	}
	must(t, again.Release(ctx))
	_, err = connect(t, s.url()).Acquire(ctx, "x", options)
	mustBe(t, err, holdfast.ErrLockLost)
}

func TestS7TheAnswerOfAReleaseIsLost(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	lease, err := connect(t, p.url()).Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	p.loseAnswers(1, false)
	must(t, lease.Release(ctx))
	if p.lostAnswers() != 1 || stateOf(t, s, "x").Held {
		t.Fatal("the lease is not released")
	}
}

func TestARequestThatCouldDoHarmTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	near, far := connect(t, s.url()), connect(t, p.url())
	_, err := near.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	p.loseAnswers(1, false)
	_, err = far.ForceRelease(ctx, "x")
	mustBe(t, err, holdfast.ErrServerUnavailable)
	if p.lostAnswers() != 1 || stateOf(t, s, "x").Held {
		t.Fatal("the lock was not taken away")
	}
}

func TestS13SeveralServers(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	client := connect(t, p.url()+", "+strings.TrimPrefix(s.url(), "http://"))
	p.loseAnswers(1, false)
	lease, err := client.Acquire(ctx, "s", holdfast.LockOptions{Limit: 2})
	must(t, err)
	all := leases(t, client)
	if p.lostAnswers() != 1 || len(all) != 1 || all[0].FencingToken != lease.FencingToken() {
		t.Fatalf("there are %+v", all)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener.Close() // an address where nobody listens
	client = connect(t, listener.Addr().String()+","+s.url(),
		func(options *holdfast.Options) { options.RetryFor = -1 })
	must(t, client.Mutex("x", holdfast.LockOptions{}).Lock(ctx))
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	listener.Close()
	client := connect(t, listener.Addr().String(),
		func(options *holdfast.Options) { options.RetryFor = 300 * time.Millisecond })
	_, err = client.Acquire(brief(t), "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrServerUnavailable)
	if !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Fatalf("%v does not name the address", err)
	}
}

func TestS14TwoGoroutinesUseOneClient(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	shared := client.Mutex("shared", holdfast.LockOptions{})
	var inside, turns atomic.Int32
	var group sync.WaitGroup
	for _, own := range []string{"a", "b"} {
		own := client.Mutex(own, holdfast.LockOptions{})
		again := client.Mutex("shared", holdfast.LockOptions{}) // another object for the same lock
		group.Add(1)
		go func() {
			defer group.Done()
			for turn := 0; turn < 10; turn++ {
				mutex := shared
				if turn%2 == 0 {
					mutex = again
				}
				if err := own.Lock(ctx); err != nil {
					t.Error(err)
				}
				if err := mutex.Lock(ctx); err != nil {
					t.Error(err)
				}
				if inside.Add(1) != 1 {
					t.Error("two goroutines have the lock")
				}
				turns.Add(1)
				inside.Add(-1)
				if err := mutex.Unlock(ctx); err != nil {
					t.Error(err)
				}
				if err := own.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	if turns.Load() != 20 {
		t.Fatalf("there were %d turns", turns.Load())
	}
}
