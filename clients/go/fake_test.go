package holdfast_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// fakeServer answers as a test needs it, and remembers what it was asked.
type fakeServer struct {
	*httptest.Server

	mutex sync.Mutex
	asked []map[string]any // the bodies of the requests
	at    []time.Time
}

func startFake(t testing.TB, answer func(index int, request *http.Request) (status int, body string)) *fakeServer {
	f := &fakeServer{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		body := map[string]any{}
		_ = json.NewDecoder(request.Body).Decode(&body)
		f.mutex.Lock()
		index := len(f.asked)
		f.asked = append(f.asked, body)
		f.at = append(f.at, time.Now())
		f.mutex.Unlock()
		status, text := answer(index, request)
		out.WriteHeader(status)
		fmt.Fprint(out, text)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) requests() []map[string]any {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return append([]map[string]any{}, f.asked...)
}

const fakeLease = `{"token":"7f","fencing_token":7,"scope":{"kind":"named","name":"x"},"holder":"a",` +
	`"mode":"exclusive","acquired_at":"1970-01-01T00:00:00.000Z","expires_at":"%s","ttl_ms":6000}`

// The server's wall clock, and so the difference to ours, jumps by a hundred years with every answer.
func TestS11AWallClockIsSet(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		return http.StatusOK, fmt.Sprintf(fakeLease, []string{"1970-01-01T00:00:00Z", "2170-01-01T00:00:00Z"}[index%2])
	})
	lease, err := connect(t, f.URL).Acquire(brief(t), "x", holdfast.LockOptions{TTL: 6 * time.Second})
	must(t, err)
	until(t, "the lease was renewed twice", func() bool { return len(f.requests()) >= 4 })
	must(t, lease.Err())
	f.CloseClientConnections()
	f.Config.SetKeepAlivesEnabled(false)
	f.Listener.Close()
	select {
	case <-lease.Lost():
	case <-time.After(patience):
		t.Fatalf("%v lasts as long as the server's clock says", lease)
	}
}

// The wall clock is read at one place, whose result is used only as a monotonic clock.
func TestS11NobodyReadsTheWallClock(t *testing.T) {
	isSource := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", isSource, 0)
	must(t, err)
	seen := map[string]int{}
	for name, file := range packages["holdfast"].Files {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, isSelector := node.(*ast.SelectorExpr)
			if !isSelector {
				return true
			}
			if from, isName := selector.X.(*ast.Ident); isName && from.Name == "time" {
				switch selector.Sel.Name {
				case "Now", "Since", "Until":
					seen[name+" "+selector.Sel.Name]++
				}
			}
			return true
		})
	}
	if len(seen) != 2 || seen["clock.go Now"] != 1 || seen["clock.go Since"] != 1 {
		t.Fatalf("the clock is read at %v", seen)
	}
}

func TestS12AWaitOfMoreThanTenMinutes(t *testing.T) {
	t.Parallel()
	const rounds = 3
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		if request.URL.Path != "/v1/leases" {
			return http.StatusOK, fmt.Sprintf(fakeLease, "")
		}
		if index < rounds {
			time.Sleep(200 * time.Millisecond)
			return http.StatusConflict, `{"error":"StillWaiting","message":"ask again","place_kept_ms":5000}`
		}
		return http.StatusOK, fmt.Sprintf(fakeLease, "")
	})
	lease, err := connect(t, f.URL).Acquire(brief(t), "x", holdfast.LockOptions{TTL: 6 * time.Second})
	must(t, err)
	must(t, lease.Err())
	asked := f.requests()
	for i := 0; i <= rounds; i++ {
		if asked[i]["request_id"] != asked[0]["request_id"] || asked[i]["wait_ms"] != 31536000000.0 {
			t.Fatalf("request %d was %v", i, asked[i])
		}
		if i > 0 && f.at[i].Sub(f.at[i-1]) > 5*time.Second {
			t.Fatalf("request %d came after %v", i, f.at[i].Sub(f.at[i-1]))
		}
	}
	must(t, lease.Release(brief(t)))
}

func TestATemporaryRefusalIsAskedAgain(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(index int, request *http.Request) (int, string) {
		if index == 0 {
			return http.StatusServiceUnavailable, `{"error":"ShuttingDown","message":"the server is stopping"}`
		}
		if index == 1 {
			return http.StatusBadGateway, "<html>no gateway</html>"
		}
		return http.StatusOK, fmt.Sprintf(fakeLease, "")
	})
	lease, err := connect(t, f.URL).TryAcquire(brief(t), "x", holdfast.LockOptions{})
	must(t, err)
	asked := f.requests()
	if len(asked) != 3 || asked[0]["request_id"] != asked[2]["request_id"] {
		t.Fatalf("the requests were %v", asked)
	}
	must(t, lease.Release(brief(t)))

	always := startFake(t, func(int, *http.Request) (int, string) {
		return http.StatusServiceUnavailable, `{"error":"StoreFailed","message":"the disk failed"}`
	})
	client := connect(t, always.URL, func(options *holdfast.Options) { options.RetryFor = 200 * time.Millisecond })
	_, err = client.TryAcquire(brief(t), "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrServerUnavailable)
	if !strings.Contains(err.Error(), "the disk failed") {
		t.Fatalf("%v hides the reason", err)
	}
}

func TestS4AWaitThatEndsSaysWhatTheServerSaidOfTheHolder(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(int, *http.Request) (int, string) {
		time.Sleep(10 * time.Millisecond)
		return http.StatusConflict, `{"error":"WaitTimedOut","message":"late","scope":{"kind":"named","name":"x"},` +
			`"holder":"ann","expires_at":"2024-01-15T10:30:00Z","retry_after_ms":250}`
	})
	_, err := connect(t, f.URL).Acquire(brief(t), "x", holdfast.LockOptions{Wait: 5 * time.Millisecond})
	mustBe(t, err, holdfast.ErrWaitTimedOut)
	var held *holdfast.LockHeldError
	if !errors.As(err, &held) || held.Holder != "ann" || held.RetryAfter != 250*time.Millisecond ||
		held.ExpiresAt.Unix() != 1705314600 {
		t.Fatalf("the error is %+v", held)
	}
	if asked := f.requests(); len(asked) != 1 {
		t.Fatalf("the holder was asked for: %v", asked)
	}
}

func TestAServerThatCancelsEveryWaitIsNotAskedWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(int, *http.Request) (int, string) {
		return http.StatusConflict, `{"error":"Cancelled","message":"the client has gone"}`
	})
	client := connect(t, f.URL, func(options *holdfast.Options) { options.RetryFor = 300 * time.Millisecond })
	_, err := client.Acquire(brief(t), "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrServerUnavailable)
}
