package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of errors, for [errors.Is]. [errors.As] finds the facts in [LockHeldError], [DeadlockError],
// [LockLostError], [StaleFenceError], [ScopeMismatchError] and [RequestError].
var (
	// ErrLockHeld: somebody else holds the lock, or something that conflicts with it.
	ErrLockHeld = errors.New("holdfast: the lock is held")
	// ErrWaitTimedOut: somebody else held the lock until the end of the wait. Such an error is also
	// an ErrLockHeld.
	ErrWaitTimedOut = errors.New("holdfast: the wait for the lock timed out")
	// ErrDeadlock: the wait would be a deadlock. Nothing was acquired. Release what you hold, and begin
	// anew.
	ErrDeadlock = errors.New("holdfast: the wait would be a deadlock")
	// ErrLockLost: the lease has ended, or may have ended. Stop the work that it protects.
	ErrLockLost = errors.New("holdfast: the lock is lost")
	// ErrNotLocked: this Mutex is not locked.
	ErrNotLocked = errors.New("holdfast: the mutex is not locked")
	// ErrStaleFence: the resource was used under a larger fencing token before. Do not write.
	ErrStaleFence = errors.New("holdfast: the fencing token is stale")
	// ErrScopeMismatch: the lease is valid, but not for this work.
	ErrScopeMismatch = errors.New("holdfast: the lease is on something else")
	// ErrUnauthorized: the server wants a secret, or another one.
	ErrUnauthorized = errors.New("holdfast: unauthorized")
	// ErrForbidden: the secret does not give the right to do this. [RequestError] names the right.
	ErrForbidden = errors.New("holdfast: forbidden")
	// ErrBadRequest: the request makes no sense, or the server will never do it.
	ErrBadRequest = errors.New("holdfast: bad request")
	// ErrServerUnavailable: the server cannot be reached, does not answer in time, cannot prove its
	// name, or cannot write to its disk. Whether the request had an effect is not known.
	ErrServerUnavailable = errors.New("holdfast: the server is unavailable")
	// ErrNotHoldfast: the address answers, but it is no Holdfast server.
	ErrNotHoldfast = errors.New("holdfast: not a Holdfast server")
)

// LockHeldError says who holds a lock. It is an [ErrLockHeld], and after a wait also an
// [ErrWaitTimedOut].
type LockHeldError struct {
	Scope      string        // of the lock in the way
	Holder     string        // empty if it is not known
	ExpiresAt  time.Time     // by the server's clock; zero if it is not known
	RetryAfter time.Duration // when to ask again, as the server recommends; zero if it does not
	TimedOut   bool          // there was a wait
}

func (e *LockHeldError) Error() string {
	text := "holdfast: " + e.Scope + " is held"
	if e.Holder != "" {
		text += " by " + e.Holder
	}
	if !e.ExpiresAt.IsZero() {
		text += " until " + e.ExpiresAt.Format(time.RFC3339)
	}
	if e.TimedOut {
		text += "; the wait is over"
	}
	return text
}

// Is makes the error an ErrLockHeld and, after a wait, an ErrWaitTimedOut.
func (e *LockHeldError) Is(target error) bool {
	return target == ErrLockHeld || (e.TimedOut && target == ErrWaitTimedOut)
}

// DeadlockError says who waits for whom. It is an [ErrDeadlock].
type DeadlockError struct {
	Scope   string // the lock that was asked for
	Message string
	// Cycle has all who wait for each other. The last one waits for something of the first.
	Cycle []CycleMember
}

// CycleMember is one of those who wait for each other: Holder waits for WaitsFor, which HeldBy, the next
// member, holds under the fencing token, or is ahead for. Of a member whose locks we may not read, only
// that is known: Hidden.
type CycleMember struct {
	Holder       string
	Waiter       string
	Door         string
	WaitsFor     string
	HeldBy       string
	FencingToken uint64
	Hidden       bool
}

func (e *DeadlockError) Error() string {
	return "holdfast: to wait for " + e.Scope + " would be a deadlock: " + e.Message
}

// Is makes the error an ErrDeadlock.
func (e *DeadlockError) Is(target error) bool { return target == ErrDeadlock }

// LockLostError says why a lock is lost. It is an [ErrLockLost]. If the work under the lock failed as
// well, the error of the work is wrapped.
type LockLostError struct {
	Scope  string // empty if only the token of the lease was known
	Reason string

	isOver bool  // the server said that the lease has ended
	work   error // what the work under the lock returned
}

func (e *LockLostError) Error() string {
	name := e.Scope
	if name == "" {
		name = "the lock"
	}
	text := "holdfast: " + name + " is lost: " + e.Reason
	if e.work != nil {
		text += "; the work ended with: " + e.work.Error()
	}
	return text
}

// Is makes the error an ErrLockLost.
func (e *LockLostError) Is(target error) bool { return target == ErrLockLost }

func (e *LockLostError) Unwrap() error { return e.work }

// StaleFenceError says which fencing token was refused. It is an [ErrStaleFence].
type StaleFenceError struct {
	Resource     string
	FencingToken uint64 // the one that was refused
	Highest      uint64 // the largest so far
}

func (e *StaleFenceError) Error() string {
	return fmt.Sprintf("holdfast: the fencing token %d is stale: %s was used under %d",
		e.FencingToken, e.Resource, e.Highest)
}

// Is makes the error an ErrStaleFence.
func (e *StaleFenceError) Is(target error) bool { return target == ErrStaleFence }

// ScopeMismatchError says what a lease is on. It is an [ErrScopeMismatch].
type ScopeMismatchError struct {
	Held       string // the scope of the lease
	Wanted     string // the scope that it does not cover, or not for writing
	HeldShared bool   // the lease covers the scope, but is shared
}

func (e *ScopeMismatchError) Error() string {
	if e.HeldShared {
		return "holdfast: the lease on " + e.Held + " is shared, and not good for writing"
	}
	return "holdfast: the lease is on " + e.Held + ", not on " + e.Wanted
}

// Is makes the error an ErrScopeMismatch.
func (e *ScopeMismatchError) Is(target error) bool { return target == ErrScopeMismatch }

// RequestError says why a request has no result. Kind is [ErrUnauthorized], [ErrForbidden],
// [ErrBadRequest], [ErrServerUnavailable] or [ErrNotHoldfast], and the error is of that kind.
type RequestError struct {
	Kind    error
	Server  string // the address that was asked; empty if none was
	Status  int    // of the answer; 0 if there was none
	Code    string // of the answer: "LimitMismatch"
	Message string
	Right   string // of an [ErrForbidden], the right that is missing: read, lock or admin; empty if not told
	On      string // what the right is missing on; "*" is everything

	cause error
}

func (e *RequestError) Error() string {
	text := e.Kind.Error()
	if e.Server != "" {
		text += " (" + e.Server + ")"
	}
	if e.Code != "" {
		text += ": " + e.Code
	}
	text += ": " + e.Message
	if e.Right != "" && !(strings.Contains(e.Message, e.Right) && (e.On == "*" || strings.Contains(e.Message, e.On))) {
		on := e.On
		if on == "*" {
			on = "everything"
		}
		text += ": the right " + e.Right + " on " + on + " is missing"
	}
	return text
}

// Is makes the error one of its kind.
func (e *RequestError) Is(target error) bool { return target == e.Kind }

// Unwrap is the error of the network, if there was one.
func (e *RequestError) Unwrap() error { return e.cause }

func invalid(message string) error {
	return &RequestError{Kind: ErrBadRequest, Message: message}
}
