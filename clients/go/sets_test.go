package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// Sets, deadlocks, elections and the history, against the real server: the scenarios S15 to S17, and what
// belongs to them.

func TestS15ASetIsAllOrNothingAndWaitsHoldingNothing(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client, other := connect(t, s.url(), named("first")), connect(t, s.url())
	inTheWay, err := client.Acquire(ctx, "b", holdfast.LockOptions{})
	must(t, err)
	_, err = other.TryAcquireSet(ctx, holdfast.Set("a", "b"), holdfast.LockOptions{})
	var held *holdfast.LockHeldError
	if !errors.Is(err, holdfast.ErrLockHeld) || !errors.As(err, &held) || held.Scope != "b" || held.Holder != "first" {
		t.Fatalf("the error is %v", err)
	}
	if stateOf(t, s, "a").Held {
		t.Fatal("a set that was refused holds a part")
	}
	set := []holdfast.SetMember{{Scope: "a"}, {Scope: "b"}, {Scope: "path:/x", Shared: true}}
	mutex := other.MutexSet(set, holdfast.LockOptions{TTL: 6 * time.Second})
	locked := make(chan error, 1)
	go func() { locked <- mutex.Lock(ctx) }()
	untilQueued(t, s, "b", 1)
	if stateOf(t, s, "a").Held {
		t.Fatal("a set that waits holds a part")
	}
	must(t, inTheWay.Release(ctx))
	must(t, <-locked)
	if info := mutex.Lease().Info(); !reflect.DeepEqual(info.Scopes, set) {
		t.Fatalf("the lease is %+v", info)
	}
	for _, scope := range []string{"a", "b"} {
		if state := stateOf(t, s, scope); state.FencingToken != mutex.FencingToken() {
			t.Fatalf("%s is %+v", scope, state)
		}
	}
	before := mutex.Lease().Info().ExpiresAt
	until(t, "the lease is renewed", func() bool { return mutex.Lease().Info().ExpiresAt.After(before) })
	must(t, mutex.Unlock(ctx))
	if stateOf(t, s, "a").Held || stateOf(t, s, "b").Held {
		t.Fatal("a part of the set is still held")
	}
	must(t, client.WithLockSet(ctx, set, holdfast.LockOptions{}, func(ctx context.Context) error {
		return holdfast.LeaseOf(ctx).Err()
	}))
	_, err = client.TryAcquireSet(ctx, holdfast.Set("a", "a"), holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrBadRequest)
}

func TestS16ADeadlockIsToldToOneOfTwoAndTheOtherGoesOn(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	inside := make(chan struct{}, 2)
	work := func(first, second string) error {
		return client.WithLock(ctx, first, holdfast.LockOptions{}, func(ctx context.Context) error {
			inside <- struct{}{}
			for len(inside) < 2 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			return client.WithLock(ctx, second, holdfast.LockOptions{}, func(context.Context) error { return nil })
		})
	}
	results := make(chan error, 2)
	go func() { results <- work("a", "b") }()
	go func() { results <- work("b", "a") }()
	refused, done := <-results, <-results
	if refused == nil {
		refused, done = done, refused
	}
	must(t, done)
	mustBe(t, refused, holdfast.ErrDeadlock)
	var deadlock *holdfast.DeadlockError
	if !errors.As(refused, &deadlock) {
		t.Fatalf("the error is %v", refused)
	}
	var waitsFor []string
	for _, member := range deadlock.Cycle {
		waitsFor = append(waitsFor, member.WaitsFor)
		if member.Holder != client.Owner() {
			t.Errorf("the cycle has %+v", member)
		}
	}
	sort.Strings(waitsFor)
	if strings.Join(waitsFor, " ") != "a b" {
		t.Fatalf("the cycle is %+v", deadlock.Cycle)
	}
	if stateOf(t, s, "a").Held || stateOf(t, s, "b").Held {
		t.Fatal("something is still held")
	}
}

func TestS16GoroutinesThatOnlyWaitForEachOtherAreNotRefused(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	nothing := func(context.Context) error { return nil }
	var group sync.WaitGroup
	for i := 0; i < 6; i++ {
		group.Add(1)
		go func(own string) {
			defer group.Done()
			err := client.WithLock(ctx, own, holdfast.LockOptions{}, func(ctx context.Context) error {
				return client.WithLock(ctx, "shared", holdfast.LockOptions{}, func(ctx context.Context) error {
					return client.WithLock(ctx, "last", holdfast.LockOptions{}, nothing)
				})
			})
			if err != nil {
				t.Error(err)
			}
		}(fmt.Sprint("own-", i))
	}
	group.Wait()
	must(t, client.WithLock(ctx, "outer", holdfast.LockOptions{}, func(ctx context.Context) error {
		for i := 0; i < 6; i++ { // other goroutines give the permits back
			permit, err := client.Acquire(ctx, "slot", holdfast.LockOptions{Limit: 2})
			if err != nil {
				return err
			}
			group.Add(1)
			go func() {
				defer group.Done()
				time.Sleep(10 * time.Millisecond)
				if err := permit.Release(context.Background()); err != nil {
					t.Error(err)
				}
			}()
		}
		group.Wait()
		return nil
	}))
}

func TestS16WhoWantsToWaitNeverthelessWaits(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	must(t, client.WithLock(ctx, "a", holdfast.LockOptions{}, func(ctx context.Context) error {
		_, err := client.Acquire(ctx, "a", holdfast.LockOptions{
			Wait: 300 * time.Millisecond, OnDeadlock: holdfast.WaitInDeadlock,
		})
		mustBe(t, err, holdfast.ErrWaitTimedOut)
		return nil
	}))
}

func TestS17TheValueChangesAndTheNextLeadsWhenTheLeaderIsKilled(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	observing, cancel := context.WithCancel(ctx)
	var leaders watched[string]
	done := make(chan error, 1)
	go func() {
		done <- connect(t, s.url()).Observe(observing, "boss", func(leader *holdfast.Leader) error {
			if leader == nil {
				return leaders.add("nobody")
			}
			return leaders.add(fmt.Sprintf("%s %s %d", leader.Candidate, leader.Value, leader.Revision))
		})
	}()
	untilLed := func(want ...string) {
		t.Helper()
		until(t, fmt.Sprint("the leaders are ", want), func() bool {
			seen := leaders.seen()
			return len(seen) >= len(want) && reflect.DeepEqual(seen[:len(want)], want)
		})
	}
	untilLed("nobody")
	leader := exec.Command(os.Args[0])
	leader.Env = append(os.Environ(), "LEADER_OF="+s.url())
	leader.Stderr = os.Stderr
	input, err := leader.StdinPipe()
	must(t, err)
	must(t, leader.Start())
	defer func() {
		_ = leader.Process.Kill()
		_ = leader.Wait()
	}()
	untilLed("nobody", "ann one 1")
	next := make(chan *holdfast.Leadership, 1)
	go func() {
		won, err := connect(t, s.url()).Campaign(ctx, holdfast.Candidacy{Election: "boss", Candidate: "bob", Value: "three"})
		if err != nil {
			t.Error(err)
		}
		next <- won
	}()
	untilQueued(t, s, "boss", 1)
	fmt.Fprintln(input)
	untilLed("nobody", "ann one 1", "ann two 2")
	must(t, leader.Process.Kill())
	leadership := <-next
	last := func() string { return leaders.seen()[len(leaders.seen())-1] }
	until(t, "bob leads", func() bool { return last() == "bob three 1" })
	must(t, leadership.SetValue(ctx, "four"))
	until(t, "the value is four", func() bool { return last() == "bob four 2" })
	must(t, leadership.Release(ctx))
	until(t, "nobody leads", func() bool { return last() == "nobody" })
	cancel()
	mustBe(t, <-done, context.Canceled)
}

func TestS17AnObserverGoesOnWhenTheServerIsRestarted(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	observing, cancel := context.WithCancel(ctx)
	defer cancel()
	var values watched[string]
	go func() {
		_ = connect(t, p.url()).Observe(observing, "boss", func(leader *holdfast.Leader) error {
			if leader == nil {
				return values.add("")
			}
			return values.add(leader.Value)
		})
	}()
	until(t, "nobody leads", func() bool { return len(values.seen()) == 1 })
	leadership, err := connect(t, p.url()).Campaign(ctx, holdfast.Candidacy{Election: "boss", Value: "one"})
	must(t, err)
	until(t, "somebody leads", func() bool { return len(values.seen()) == 2 })
	s.restart(t)
	must(t, leadership.SetValue(ctx, "two"))
	until(t, "the value is seen", func() bool { return len(values.seen()) == 3 })
	if !reflect.DeepEqual(values.seen(), []string{"", "one", "two"}) {
		t.Fatalf("the values were %v", values.seen())
	}
	must(t, leadership.Release(ctx))
}

func TestTheHistoryHasTheLeasesThatEnded(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	nothing := func(context.Context) error { return nil }
	for i := 0; i < 5; i++ {
		must(t, client.WithLock(ctx, fmt.Sprint("job/", i), holdfast.LockOptions{}, nothing))
	}
	must(t, client.WithLockSet(ctx, holdfast.Set("a", "b"), holdfast.LockOptions{Metadata: "m"}, nothing))
	find := func(filter holdfast.HistoryFilter) (found []holdfast.HistoryEntry) {
		must(t, client.History(ctx, filter, func(entry holdfast.HistoryEntry) error {
			found = append(found, entry)
			return nil
		}))
		return found
	}
	var scopes []string
	for _, entry := range find(holdfast.HistoryFilter{Prefix: "job/", Limit: 2}) {
		scopes = append(scopes, entry.Scope)
		if entry.Owner != client.Owner() || entry.Ended != "released" {
			t.Errorf("the entry is %+v", entry)
		}
	}
	if strings.Join(scopes, " ") != "job/4 job/3 job/2 job/1 job/0" {
		t.Fatalf("the history has %v", scopes)
	}
	both := find(holdfast.HistoryFilter{Scope: "b"})
	if len(both) != 1 || both[0].Metadata != "m" || len(both[0].Scopes) != 2 {
		t.Fatalf("the history has %+v", both)
	}
	if all := find(holdfast.HistoryFilter{Since: time.UnixMilli(1)}); len(all) != 6 {
		t.Fatalf("the history has %+v", all)
	}
}
