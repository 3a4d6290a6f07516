package holdfast_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// What the client sends, and what it makes of the answers: sets, deadlocks, elections, history and rights. The server is the test's own.

func startGranting(t testing.TB) *fakeServer {
	return startFake(t, func(int, *http.Request) (int, string) {
		return http.StatusOK, fmt.Sprintf(fakeLease, "2170-01-01T00:00:00Z")
	})
}

// acquired are the requests for locks, by scope.
func (f *fakeServer) acquired() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, body := range f.requests() {
		if scope, isAcquire := body["scope"].(string); isAcquire {
			all[scope] = body
		}
	}
	return all
}

func (f *fakeServer) waiterOf(scope string) string {
	waiter, _ := f.acquired()[scope]["waiter"].(string)
	return waiter
}

func TestASetIsSentAsElements(t *testing.T) {
	t.Parallel()
	f := startGranting(t)
	client := connect(t, f.URL)
	_, err := client.TryAcquireSet(brief(t), []holdfast.SetMember{
		{Scope: "a"}, {Scope: "path:/x", Shared: true}, {Scope: "s", Limit: 3},
	}, holdfast.LockOptions{})
	must(t, err)
	want := []any{
		map[string]any{"scope": "a"}, map[string]any{"scope": "path:/x", "mode": "shared"},
		map[string]any{"scope": "semaphore:s", "limit": 3.0},
	}
	body := f.requests()[0]
	if !reflect.DeepEqual(body["scopes"], want) || body["scope"] != nil || body["mode"] != nil {
		t.Fatalf("the request was %v", body)
	}
	_, err = client.AcquireSet(brief(t), []holdfast.SetMember{{Scope: "t", Limit: 3, Shared: true}}, holdfast.LockOptions{})
	must(t, err)
	body = f.acquired()["semaphore:t"]
	if body["limit"] != 3.0 || body["mode"] != "shared" || body["scopes"] != nil {
		t.Fatalf("the request was %v", body)
	}
	before := len(f.requests())
	for _, set := range [][]holdfast.SetMember{nil, {{Scope: "a"}, {Scope: "inode:7", Limit: 2}}, holdfast.Set("a", "\xff")} {
		_, err := client.AcquireSet(brief(t), set, holdfast.LockOptions{})
		mustBe(t, err, holdfast.ErrBadRequest)
	}
	_, err = client.AcquireSet(brief(t), holdfast.Set("a", "b"), holdfast.LockOptions{Limit: 2})
	mustBe(t, err, holdfast.ErrBadRequest)
	if len(f.requests()) != before {
		t.Fatal("a set that makes no sense was sent")
	}
}

func TestALeaseShowsItsScopes(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, _ *http.Request) (int, string) {
		lease := fmt.Sprintf(fakeLease, "2170-01-01T00:00:00Z")
		if index == 0 {
			lease = strings.TrimSuffix(lease, "}") + `,"scopes":[{"scope":{"kind":"named","name":"x"},"mode":"exclusive"},` +
				`{"scope":{"kind":"path","path":"/x"},"mode":"shared"}],"value":"v","revision":3}`
		}
		return http.StatusOK, lease
	})
	client := connect(t, f.URL)
	several, err := client.Lookup(brief(t), "7f")
	must(t, err)
	if !reflect.DeepEqual(several.Scopes, []holdfast.SetMember{{Scope: "x"}, {Scope: "path:/x", Shared: true}}) ||
		several.Value != "v" || several.Revision != 3 {
		t.Fatalf("the lease is %+v", several)
	}
	only, err := client.Lookup(brief(t), "7f")
	must(t, err)
	if !reflect.DeepEqual(only.Scopes, []holdfast.SetMember{{Scope: "x"}}) {
		t.Fatalf("the lease is %+v", only)
	}
}

func TestADeadlockIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, _ *http.Request) (int, string) {
		if index == 1 {
			return http.StatusConflict, `{"error":"Deadlock","message":"m","cycle":[7]}`
		}
		return http.StatusConflict, `{"error":"Deadlock","message":"ann waits for bob","scope":{"kind":"named","name":"b"},` +
			`"cycle":[{"holder":"ann","waiter":"w1","door":"scoped","waits_for":{"kind":"named","name":"b"},"held_by":"bob",` +
			`"fencing_token":34},{"hidden":true}]}`
	})
	client := connect(t, f.URL)
	_, err := client.Acquire(brief(t), "b", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrDeadlock)
	var deadlock *holdfast.DeadlockError
	want := []holdfast.CycleMember{
		{Holder: "ann", Waiter: "w1", Door: "scoped", WaitsFor: "b", HeldBy: "bob", FencingToken: 34}, {Hidden: true},
	}
	if errors.Is(err, holdfast.ErrLockHeld) || !errors.As(err, &deadlock) || !reflect.DeepEqual(deadlock.Cycle, want) ||
		err.Error() != "holdfast: to wait for b would be a deadlock: ann waits for bob" || len(f.requests()) != 1 {
		t.Fatalf("the error is %v", err)
	}
	_, err = client.Acquire(brief(t), "b", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrNotHoldfast)
}

func TestTheValueOfACandidacyIsSentAndChanged(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		if request.Method == http.MethodPut && request.URL.Path != "/v1/leases/7f/value" || index == 3 {
			return http.StatusGone, `{"error":"LockExpired","message":"over"}`
		}
		lease := strings.TrimSuffix(fmt.Sprintf(fakeLease, "2170-01-01T00:00:00Z"), "}")
		return http.StatusOK, fmt.Sprintf(`%s,"value":"v%d","revision":%d}`, lease, index+1, index+1)
	})
	ctx := brief(t)
	leadership, err := connect(t, f.URL).Campaign(ctx, holdfast.Candidacy{Election: "boss", Candidate: "ann", Value: "v1"})
	must(t, err)
	if body := f.acquired()["named:boss"]; body["value"] != "v1" || body["holder"] != "ann" {
		t.Fatalf("the request was %v", body)
	}
	for number := 2; number <= 3; number++ {
		value := fmt.Sprint("v", number)
		must(t, leadership.SetValue(ctx, value))
		info := leadership.Info()
		if f.requests()[number-1]["value"] != value || info.Value != value || info.Revision != uint64(number) {
			t.Fatalf("the lease is %+v", info)
		}
	}
	mustBe(t, leadership.SetValue(ctx, "v4"), holdfast.ErrLockLost)
	must(t, leadership.Release(ctx))
	asked := len(f.requests())
	mustBe(t, leadership.SetValue(ctx, "v5"), holdfast.ErrNotLocked)
	mustBe(t, leadership.SetValue(ctx, "\xff"), holdfast.ErrBadRequest)
	if len(f.requests()) != asked {
		t.Fatal("the server was asked after the release")
	}
}

func TestValuesAreChangedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var underWay, overlaps atomic.Int32
	f := startFake(t, func(int, *http.Request) (int, string) {
		if underWay.Add(1) > 1 {
			overlaps.Add(1)
		}
		time.Sleep(10 * time.Millisecond)
		underWay.Add(-1)
		return http.StatusOK, fmt.Sprintf(fakeLease, "2170-01-01T00:00:00Z")
	})
	ctx := brief(t)
	leadership, err := connect(t, f.URL).Campaign(ctx, holdfast.Candidacy{Election: "boss"})
	must(t, err)
	var group sync.WaitGroup
	for i := 0; i < 5; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := leadership.SetValue(ctx, "v"); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	if overlaps.Load() != 0 {
		t.Fatal("two changes were made at the same time")
	}
	must(t, leadership.Release(ctx))
}

func TestAnObserverIsToldEachChangeOnce(t *testing.T) {
	t.Parallel()
	const ann = `{"election":"the boss","leader":"ann","fencing_token":5`
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		if request.URL.String() != "/v1/elections/the%20boss?watch=true" || request.Header.Get("Last-Event-ID") != "" {
			return http.StatusBadRequest, `{"error":"BadRequest","message":"` + request.URL.String() + `"}`
		}
		states := []string{`{"election":"the boss","candidates":0}`, ann + "}", ann + "}", ann + `,"value":"v","revision":1}`}
		if index > 0 {
			states = []string{ann + `,"value":"v","revision":1}`, ann + `,"value":"w","revision":2}`, `{"leader":"bob"}`}
		}
		return http.StatusOK, "id: 7\nevent: leader\ndata: " +
			strings.Join(states, "\n\nid: 7\nevent: leader\ndata: ") + "\n\n"
	})
	var seen []holdfast.Leader
	err := connect(t, f.URL).Observe(brief(t), "the boss", func(leader *holdfast.Leader) error {
		if leader == nil {
			leader = &holdfast.Leader{}
		}
		seen = append(seen, *leader)
		return nil
	})
	mustBe(t, err, holdfast.ErrNotHoldfast) // bob has no fencing token
	want := []holdfast.Leader{
		{}, {Candidate: "ann", FencingToken: 5}, {Candidate: "ann", Value: "v", FencingToken: 5, Revision: 1},
		{Candidate: "ann", Value: "w", FencingToken: 5, Revision: 2},
	}
	if !reflect.DeepEqual(seen, want) {
		t.Fatalf("the leaders were %+v", seen)
	}
}

func TestAListingThatLeadsToItselfEndsWithAnError(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		if index > 3 {
			t.Error("it is asked for again and again")
		}
		return http.StatusOK, `{"history":[],"leases":[],"next":"17"}`
	})
	client := connect(t, f.URL)
	mustBe(t, client.History(brief(t), holdfast.HistoryFilter{}, nil), holdfast.ErrNotHoldfast)
	mustBe(t, client.Leases(brief(t), holdfast.LeaseFilter{}, nil), holdfast.ErrNotHoldfast)
}

func TestTheHistoryIsReadPageByPage(t *testing.T) {
	t.Parallel()
	const entry = `{"fencing_token":7,"scope":{"kind":"named","name":"x"},"holder":"ann","door":"scoped","mode":"exclusive",` +
		`"waited_ms":250,"acquired_at":"2024-01-15T10:30:00.000Z","ended_at":"2024-01-15T10:30:30.000Z","ended":"expired"`
	var mutex sync.Mutex
	var asked []string
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		mutex.Lock()
		defer mutex.Unlock()
		asked = append(asked, request.URL.String())
		switch index {
		case 0:
			return http.StatusOK, `{"history":[` + entry + `}],"next":17,"position":3}`
		case 1:
			return http.StatusOK, `{"history":[` + entry + `,"scopes":["x","path:/x"],"metadata":"m","granted_by":"ci","ended_by":"ops"}],"next":"","position":3}`
		}
		return http.StatusNotFound, `{"error":"HistoryOff","message":"the server keeps no history"}`
	})
	client := connect(t, f.URL)
	var entries []holdfast.HistoryEntry
	filter := holdfast.HistoryFilter{Scope: "x", Owner: "ann", Since: time.UnixMilli(1705314600000), Limit: 1}
	must(t, client.History(brief(t), filter, func(entry holdfast.HistoryEntry) error {
		entries = append(entries, entry)
		return nil
	}))
	want := []string{"/v1/history?limit=1&owner=ann&scope=x&since=1705314600000",
		"/v1/history?after=17&limit=1&owner=ann&scope=x&since=1705314600000"}
	if !reflect.DeepEqual(asked, want) {
		t.Fatalf("the requests were %v", asked)
	}
	first, second := entries[0], entries[1]
	if first.Scope != "x" || first.Owner != "ann" || first.Ended != "expired" || first.Waited != 250*time.Millisecond ||
		first.EndedAt.Sub(first.AcquiredAt) != 30*time.Second || len(first.Scopes) != 1 {
		t.Fatalf("the entry is %+v", first)
	}
	if second.Metadata != "m" || second.GrantedBy != "ci" || second.EndedBy != "ops" || !reflect.DeepEqual(second.Scopes, holdfast.Set("x", "path:/x")) {
		t.Fatalf("the entry is %+v", second)
	}
	err := client.History(brief(t), holdfast.HistoryFilter{}, nil)
	var refused *holdfast.RequestError
	if !errors.Is(err, holdfast.ErrBadRequest) || !errors.As(err, &refused) || refused.Code != "HistoryOff" {
		t.Fatalf("the error is %v", err)
	}
}

func TestARightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	const told = "the token ci lacks the right lock on prod at the door http"
	answers := []string{
		`{"error":"Forbidden","message":"` + told + `","right":"lock","on":"prod"}`,
		`{"error":"Forbidden","message":"no","right":"admin","on":"*"}`,
		`{"error":"Forbidden","message":"this needs the admin token"}`,
	}
	f := startFake(t, func(index int, _ *http.Request) (int, string) { return http.StatusForbidden, answers[index] })
	client := connect(t, f.URL)
	for _, want := range [][]string{
		{told, "lock", "prod"}, {"no: the right admin on everything is missing", "admin", "*"},
		{"this needs the admin token", "", ""},
	} {
		_, err := client.TryAcquire(brief(t), "prod", holdfast.LockOptions{})
		mustBe(t, err, holdfast.ErrForbidden)
		var refused *holdfast.RequestError
		if !errors.As(err, &refused) || refused.Right != want[1] || refused.On != want[2] ||
			!strings.HasSuffix(err.Error(), ": "+want[0]) {
			t.Fatalf("the error is %v", err)
		}
	}
}
