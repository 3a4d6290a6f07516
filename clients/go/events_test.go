package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// watched collects what a watcher sees.
type watched[T any] struct {
	mutex sync.Mutex
	all   []T
}

func (w *watched[T]) add(one T) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.all = append(w.all, one)
	return nil
}

func (w *watched[T]) seen() []T {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]T{}, w.all...)
}

func TestEventsGoOnWhereTheyWereCutOff(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	client, far := connect(t, s.url(), named("worker")), connect(t, p.url())
	watching, cancel := context.WithCancel(ctx)
	var events watched[holdfast.Event]
	open := make(chan struct{}, 100)
	done := make(chan error, 1)
	go func() {
		done <- far.Watch(watching, holdfast.WatchOptions{
			Prefix: "x", OnOpen: func() { open <- struct{}{} },
		}, events.add)
	}()
	<-open
	take := func(scope, metadata string) {
		must(t, client.WithLock(ctx, scope, holdfast.LockOptions{Metadata: metadata},
			func(context.Context) error { return nil }))
	}
	take("x", "first")
	take("y", "")
	until(t, "two events came", func() bool { return len(events.seen()) == 2 })
	p.cut()
	take("x", "second")
	p.heal()
	take("x", "third")
	until(t, "six events came", func() bool { return len(events.seen()) == 6 })
	cancel()
	mustBe(t, <-done, context.Canceled)
	var last uint64
	for i, event := range events.seen() {
		kind := []string{"granted", "released"}[i%2]
		if event.ID <= last || event.Kind != kind || event.Name != "x" || event.LockKind != "named" ||
			event.Owner != "worker" || event.FencingToken == 0 || event.At.Year() < 2000 || len(event.Data) == 0 {
			t.Fatalf("event %d is %+v", i, event)
		}
		last = event.ID
	}
	if events.seen()[2].Metadata != "second" {
		t.Fatalf("the events are %+v", events.seen())
	}

	enough := errors.New("enough")
	seen := 0
	options := holdfast.WatchOptions{Prefix: "x", After: events.seen()[0].ID}
	mustBe(t, far.Watch(ctx, options, func(event holdfast.Event) error {
		if seen++; event.ID == last {
			return enough
		}
		return nil
	}), enough)
	if seen != 5 {
		t.Fatalf("%d events were remembered", seen)
	}
	p.cut()
	impatient := connect(t, p.url(), func(options *holdfast.Options) { options.RetryFor = 200 * time.Millisecond })
	mustBe(t, impatient.Watch(ctx, holdfast.WatchOptions{}, nil), holdfast.ErrServerUnavailable)
}

func TestAnElectionHasOneLeaderAtATime(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	p := startProxy(t, s)
	observing, cancel := context.WithCancel(ctx)
	var leaders watched[string]
	done := make(chan error, 1)
	go func() {
		done <- connect(t, p.url()).Observe(observing, "path:of", func(leader *holdfast.Leader) error {
			if leader == nil {
				return leaders.add("nobody")
			}
			return leaders.add(leader.Candidate + " at " + leader.Value)
		})
	}()
	until(t, "nobody leads", func() bool { return len(leaders.seen()) == 1 })
	campaign := func(candidate string) (lease chan *holdfast.Leadership) {
		lease = make(chan *holdfast.Leadership, 1)
		go func() {
			won, err := connect(t, s.url()).Campaign(ctx, holdfast.Candidacy{
				Election: "path:of", Candidate: candidate, Value: "port " + candidate,
			})
			if err != nil {
				t.Error(err)
			}
			lease <- won
		}()
		return lease
	}
	first := <-campaign("a")
	second := campaign("b")
	untilQueued(t, s, "path:of", 1)
	until(t, "a leads", func() bool { return len(leaders.seen()) == 2 })
	if len(second) != 0 {
		t.Fatal("there are two leaders")
	}
	p.cut()
	must(t, first.Release(ctx)) // the observer does not see this
	b := <-second
	p.heal()
	until(t, "b leads", func() bool { return leaders.seen()[len(leaders.seen())-1] == "b at port b" })
	must(t, b.Release(ctx))
	until(t, "nobody leads", func() bool { return leaders.seen()[len(leaders.seen())-1] == "nobody" })
	cancel()
	mustBe(t, <-done, context.Canceled)
	if b.FencingToken() <= first.FencingToken() {
		t.Fatal("the fencing tokens do not grow")
	}
	want := []string{"nobody", "a at port a", "b at port b", "nobody"}
	if !reflect.DeepEqual(leaders.seen(), want) {
		t.Fatalf("the leaders were %v", fmt.Sprint(leaders.seen()))
	}

	failure := errors.New("enough")
	mustBe(t, connect(t, s.url()).Observe(ctx, "path:of", func(*holdfast.Leader) error { return failure }), failure)
}
