package holdfast

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// SetMember is one of several scopes that are locked together.
type SetMember struct {
	Scope  string // as a text: "x", "path:/x"
	Shared bool   // all members are shared if [LockOptions].Shared is true
	Limit  int    // above 1, the name is a semaphore with so many permits
}

// Set makes members of scopes.
func Set(scopes ...string) []SetMember {
	members := make([]SetMember, len(scopes))
	for i, scope := range scopes {
		members[i].Scope = scope
	}
	return members
}

// AcquireSet waits for several scopes, and returns one lease on all of them. It holds nothing while it
// waits. It is otherwise like [Client.Acquire]; [LockHeldError].Scope is the member in the way.
func (c *Client) AcquireSet(ctx context.Context, set []SetMember, options LockOptions) (*Lease, error) {
	return c.acquire(ctx, set, options, options.wait())
}

// TryAcquireSet does not wait, as [Client.TryAcquire]: it acquires all of the scopes, or none.
func (c *Client) TryAcquireSet(ctx context.Context, set []SetMember, options LockOptions) (*Lease, error) {
	return c.acquire(ctx, set, options, 0)
}

// WithLockSet calls work while it holds all of the scopes, as [Client.WithLock].
func (c *Client) WithLockSet(ctx context.Context, set []SetMember, options LockOptions,
	work func(ctx context.Context) error) error {
	return c.withLock(ctx, set, options, work)
}

// MutexSet makes a mutex of several scopes.
func (c *Client) MutexSet(set []SetMember, options LockOptions) *Mutex {
	return &Mutex{
		client: c, set: append([]SetMember{}, set...), options: options, slot: make(chan struct{}, 1),
	}
}

// wait is how long to wait in the queue.
func (o LockOptions) wait() time.Duration {
	if o.Wait <= 0 || o.Wait > endlessWait {
		return endlessWait
	}
	return o.Wait
}

// setName is a set as it is shown to people.
func setName(set []SetMember) string {
	scopes := make([]string, len(set))
	for i, member := range set {
		scopes[i] = member.Scope
	}
	return strings.Join(scopes, ", ")
}

// memberJSON is a member as a request has it.
type memberJSON struct {
	Scope string `json:"scope"`
	Mode  string `json:"mode,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func newMemberJSON(member SetMember) (memberJSON, error) {
	scope, err := withLimit(member.Scope, member.Limit)
	element := memberJSON{Scope: scope}
	if member.Shared {
		element.Mode = "shared"
	}
	if kind, _ := splitScope(scope); kind == "semaphore" {
		element.Limit = member.Limit
	}
	if err == nil {
		err = requireUTF8(scope)
	}
	return element, err
}

// scopesJSON are the scopes of a lease as the server shows them: objects with a mode, or texts.
type scopesJSON []SetMember

func (s *scopesJSON) UnmarshalJSON(text []byte) error {
	var elements []json.RawMessage
	if err := json.Unmarshal(text, &elements); err != nil {
		return err
	}
	for _, element := range elements {
		var scope string
		if json.Unmarshal(element, &scope) == nil {
			*s = append(*s, SetMember{Scope: scope})
			continue
		}
		var member struct {
			Scope scopeJSON `json:"scope"`
			Mode  string    `json:"mode"`
		}
		if err := json.Unmarshal(element, &member); err != nil {
			return err
		}
		*s = append(*s, SetMember{Scope: member.Scope.String(), Shared: member.Mode == "shared"})
	}
	return nil
}

// orOnly are the scopes, or the only one: the server shows a list if there are several.
func (s scopesJSON) orOnly(only SetMember) []SetMember {
	if len(s) == 0 {
		return []SetMember{only}
	}
	return s
}
