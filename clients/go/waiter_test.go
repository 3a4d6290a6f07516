package holdfast_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// Who waits, as the server is told. The server is the test's own.

func TestBlocksInsideOfEachOtherAreOneWaiter(t *testing.T) {
	t.Parallel()
	f := startGranting(t)
	client, other := connect(t, f.URL), connect(t, f.URL)
	within := func(ctx context.Context, scope string, work func(context.Context) error) error {
		return client.WithLock(ctx, scope, holdfast.LockOptions{}, work)
	}
	nothing := func(context.Context) error { return nil }
	must(t, within(brief(t), "a", func(ctx context.Context) error {
		must(t, within(ctx, "b", func(ctx context.Context) error { return within(ctx, "c", nothing) }))
		must(t, within(ctx, "d", nothing))
		mutex := client.Mutex("e", holdfast.LockOptions{})
		must(t, mutex.Lock(ctx))
		must(t, within(ctx, "f", nothing)) // the mutex may be unlocked by any goroutine
		must(t, mutex.Unlock(ctx))
		must(t, within(ctx, "g", nothing))
		must(t, other.WithLock(ctx, "h", holdfast.LockOptions{}, nothing))
		return nil
	}))
	must(t, within(brief(t), "i", nothing))
	if len(f.waiterOf("a")) != 32 {
		t.Fatalf("the waiter is %q", f.waiterOf("a"))
	}
	for _, scope := range strings.Split("bcdeg", "") {
		if f.waiterOf(scope) != f.waiterOf("a") {
			t.Errorf("%s has another waiter", scope)
		}
	}
	different := map[string]bool{}
	for _, scope := range strings.Split("afhi", "") {
		different[f.waiterOf(scope)] = true
	}
	if len(different) != 4 {
		t.Errorf("the waiters are %v", different)
	}
}

func TestALeaseThatABlockHasLeftBehindKeepsTheWaiterForItself(t *testing.T) {
	t.Parallel()
	f := startGranting(t)
	client := connect(t, f.URL)
	nothing := func(context.Context) error { return nil }
	must(t, client.WithLock(brief(t), "a", holdfast.LockOptions{}, func(ctx context.Context) error {
		var left *holdfast.Lease
		must(t, client.WithLock(ctx, "b", holdfast.LockOptions{}, func(ctx context.Context) (err error) {
			left, err = client.Acquire(ctx, "c", holdfast.LockOptions{})
			return err
		}))
		must(t, client.WithLock(ctx, "d", holdfast.LockOptions{}, nothing))
		must(t, left.Release(ctx))
		return client.WithLock(ctx, "e", holdfast.LockOptions{}, nothing)
	}))
	a := f.waiterOf("a")
	if f.waiterOf("b") != a || f.waiterOf("c") != a || f.waiterOf("d") == a || f.waiterOf("e") != a {
		t.Fatalf("the requests were %v", f.acquired())
	}
}

func TestWhatRunsAtTheSameTimeIsAnotherWaiter(t *testing.T) {
	t.Parallel()
	f := startGranting(t)
	client := connect(t, f.URL)
	var left context.Context
	must(t, client.WithLock(brief(t), "a", holdfast.LockOptions{}, func(ctx context.Context) error {
		var group sync.WaitGroup
		inside := make(chan struct{}, 2)
		for _, scope := range []string{"b", "c"} {
			group.Add(1)
			go func(scope string) {
				defer group.Done()
				err := client.WithLock(ctx, scope, holdfast.LockOptions{}, func(context.Context) error {
					inside <- struct{}{}
					for deadline := time.Now().Add(patience); len(inside) < 2 && time.Now().Before(deadline); {
						time.Sleep(time.Millisecond)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}(scope)
		}
		group.Wait()
		left = ctx
		return nil
	}))
	a, b, c := f.waiterOf("a"), f.waiterOf("b"), f.waiterOf("c")
	if b == c || (a != b && a != c) {
		t.Fatalf("the waiters are %s, %s and %s", a, b, c)
	}
	ended, err := client.Acquire(withoutEnd{left}, "d", holdfast.LockOptions{})
	must(t, err)
	must(t, ended.Release(brief(t)))
	if f.waiterOf("d") == a {
		t.Fatal("a block that is over has a waiter")
	}
	for _, scope := range []string{"e", "g"} {
		_, err := client.Acquire(brief(t), scope, holdfast.LockOptions{})
		must(t, err)
	}
	if f.waiterOf("e") == f.waiterOf("g") {
		t.Fatal("leases without a block have the same waiter")
	}
}

// withoutEnd is a context that has the values of another one, and does not end.
type withoutEnd struct{ context.Context }

func (withoutEnd) Deadline() (time.Time, bool) { return time.Time{}, false }
func (withoutEnd) Done() <-chan struct{}       { return nil }
func (withoutEnd) Err() error                  { return nil }

func TestAProgramMayNameTheWaiter(t *testing.T) {
	t.Parallel()
	f := startGranting(t)
	client := connect(t, f.URL)
	ctx := holdfast.WithWaiter(brief(t), "worker 7")
	for _, scope := range []string{"a", "b"} {
		_, err := client.Acquire(ctx, scope, holdfast.LockOptions{OnDeadlock: holdfast.WaitInDeadlock})
		must(t, err)
	}
	_, err := client.Acquire(ctx, "c", holdfast.LockOptions{Waiter: "worker 8"})
	must(t, err)
	if f.waiterOf("a") != "worker 7" || f.waiterOf("b") != "worker 7" || f.waiterOf("c") != "worker 8" {
		t.Fatalf("the requests were %v", f.acquired())
	}
	if f.acquired()["a"]["on_deadlock"] != "tell" || f.acquired()["c"]["on_deadlock"] != "refuse" {
		t.Fatalf("the requests were %v", f.acquired())
	}
}
