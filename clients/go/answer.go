package holdfast

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// retryAfterMax limits how long a server can make us pause.
const retryAfterMax = time.Second

// answer is what the server said to a request. Each request has its own few of the fields.
type answer struct {
	Token        string    `json:"token"`
	FencingToken *uint64   `json:"fencing_token"`
	Scope        scopeJSON `json:"scope"`
	Holder       string    `json:"holder"`
	Mode         string    `json:"mode"`
	AcquiredAt   string    `json:"acquired_at"`
	ExpiresAt    string    `json:"expires_at"`
	TTLMs        int64     `json:"ttl_ms"`
	DurationMs   int64     `json:"duration_ms"` // ttl_ms of older servers
	Metadata     string    `json:"metadata"`

	Scopes   scopesJSON `json:"scopes"` // of a lease on several scopes
	Value    string     `json:"value"`  // of a candidacy
	Revision uint64     `json:"revision"`

	Code         string      `json:"error"`
	Message      string      `json:"message"`
	RetryAfterMs int64       `json:"retry_after_ms"`
	Cycle        []cycleJSON `json:"cycle"` // of a deadlock
	Right        string      `json:"right"` // the one that is missing
	On           string      `json:"on"`

	Resource string  `json:"resource"`
	Highest  *uint64 `json:"highest"`

	// Of /v1/locks.
	Holders json.RawMessage `json:"holders"` // their number, or a list of them
	Reason  string          `json:"reason"`  // the code, at this door

	Leases  []answer       `json:"leases"`
	History *[]historyJSON `json:"history"`
	Next    pageMark       `json:"next"`

	status     int
	server     string
	retryAfter time.Duration // from the header
}

// nextPage is where the page after this one begins; empty if there is none. It is an error if this page
// began there, too: the listing would never end.
func (a *answer) nextPage(after string) (string, error) {
	next := string(a.Next)
	if next != "" && next == after {
		return "", notHoldfast(a.server, a.status, "the listing does not go on after "+next)
	}
	return next, nil
}

// pageMark is where the next page begins: a text, or a number.
type pageMark string

func (m *pageMark) UnmarshalJSON(text []byte) error {
	var number json.Number
	var words string
	switch {
	case json.Unmarshal(text, &words) == nil:
		*m = pageMark(words)
	case json.Unmarshal(text, &number) == nil:
		*m = pageMark(number.String())
	}
	return nil
}

// cycleJSON is one of those who wait for each other.
type cycleJSON struct {
	Holder       string    `json:"holder"`
	Waiter       string    `json:"waiter"`
	Door         string    `json:"door"`
	WaitsFor     scopeJSON `json:"waits_for"`
	HeldBy       string    `json:"held_by"`
	FencingToken uint64    `json:"fencing_token"`
	Hidden       bool      `json:"hidden"`
}

// readAnswer reads the body of an answer. The answer is nil if the body is none of Holdfast's.
func readAnswer(status int, header http.Header, body []byte) *answer {
	a := &answer{}
	if json.Unmarshal(body, a) != nil {
		return nil
	}
	a.status = status
	if a.Code == "" {
		a.Code = a.Reason
	}
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil && seconds > 0 {
		a.retryAfter = clamp(time.Duration(seconds)*time.Second, 0, retryAfterMax)
	}
	isKnown := status == http.StatusOK || a.Code != ""
	if status == http.StatusNotFound {
		isKnown = a.Code == "LockNotFound" || a.Code == "FenceNotFound" || a.Code == "HistoryOff"
	}
	if !isKnown {
		return nil
	}
	return a
}

// isTemporary is true if the server, or a gateway before it, cannot answer now but may answer later.
func isTemporary(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// isOver is true if the lease of the request has ended.
func (a *answer) isOver() bool {
	return a.Code == "LockExpired" || a.Code == "LockNotFound"
}

func (a *answer) ttl() time.Duration {
	if a.TTLMs == 0 {
		return time.Duration(a.DurationMs) * time.Millisecond
	}
	return time.Duration(a.TTLMs) * time.Millisecond
}

// lease is the lease that the answer shows, or an error if it shows none.
func (a *answer) lease() (LeaseInfo, error) {
	if a.FencingToken == nil || a.Scope.Kind == "" || a.ttl() <= 0 {
		return LeaseInfo{}, notHoldfast(a.server, a.status, "the answer is no lease")
	}
	only := SetMember{Scope: a.Scope.String(), Shared: a.Mode == "shared"}
	return LeaseInfo{
		Scope:        only.Scope,
		Scopes:       a.Scopes.orOnly(only),
		Owner:        a.Holder,
		Shared:       only.Shared,
		FencingToken: *a.FencingToken,
		TTL:          a.ttl(),
		Metadata:     a.Metadata,
		Value:        a.Value,
		Revision:     a.Revision,
		AcquiredAt:   readTime(a.AcquiredAt),
		ExpiresAt:    readTime(a.ExpiresAt),
	}, nil
}

// failure is the error of an answer that is no success.
func (a *answer) failure() error {
	switch a.Code {
	case "LockHeld", "WaitTimedOut":
		return &LockHeldError{
			Scope:      a.Scope.String(),
			Holder:     a.Holder,
			ExpiresAt:  readTime(a.ExpiresAt),
			RetryAfter: time.Duration(a.RetryAfterMs) * time.Millisecond,
			TimedOut:   a.Code == "WaitTimedOut",
		}
	case "Deadlock":
		return a.deadlock()
	case "LockExpired", "LockNotFound", "RequestEnded":
		return &LockLostError{Reason: a.message(), isOver: true}
	case "StaleFence":
		stale := &StaleFenceError{Resource: a.Resource}
		if a.FencingToken != nil && a.Highest != nil {
			stale.FencingToken, stale.Highest = *a.FencingToken, *a.Highest
		}
		return stale
	}
	failure := &RequestError{
		Kind: ErrBadRequest, Server: a.server, Status: a.status, Code: a.Code, Message: a.message(),
	}
	if a.Message == "" {
		failure.Code = "" // the door has sentences for codes
	}
	switch {
	case a.status == http.StatusUnauthorized:
		failure.Kind = ErrUnauthorized
	case a.status == http.StatusForbidden:
		failure.Kind, failure.Right, failure.On = ErrForbidden, a.Right, a.On
	case a.status >= http.StatusInternalServerError:
		failure.Kind = ErrServerUnavailable
	}
	return failure
}

func (a *answer) deadlock() error {
	deadlock := &DeadlockError{Scope: a.Scope.String(), Message: a.message()}
	for _, member := range a.Cycle {
		deadlock.Cycle = append(deadlock.Cycle, CycleMember{
			Holder:       member.Holder,
			Waiter:       member.Waiter,
			Door:         member.Door,
			WaitsFor:     member.WaitsFor.String(),
			HeldBy:       member.HeldBy,
			FencingToken: member.FencingToken,
			Hidden:       member.Hidden,
		})
	}
	return deadlock
}

func (a *answer) message() string {
	if a.Message != "" {
		return a.Message
	}
	return a.Code
}

func notHoldfast(server string, status int, message string) error {
	return &RequestError{Kind: ErrNotHoldfast, Server: server, Status: status, Message: message}
}

func readTime(text string) time.Time {
	parsed, _ := time.Parse(time.RFC3339, text)
	return parsed
}
