package holdfast

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Mutex is a lock of the server that can be locked again and again. Like a [sync.Mutex], it is locked
// by one goroutine at a time; the others wait. Every Lock needs its Unlock, also if the lock was lost.
type Mutex struct {
	client  *Client
	set     []SetMember
	options LockOptions
	slot    chan struct{} // has an element while the mutex is locked, or is being locked

	mutex    sync.Mutex
	lease    *Lease // the last one
	isLocked bool
}

// Mutex makes a mutex. The scope and the options are those of [Client.Acquire].
func (c *Client) Mutex(scope string, options LockOptions) *Mutex {
	return c.MutexSet(Set(scope), options)
}

// Lock waits for the lock, as [Client.Acquire] does.
func (m *Mutex) Lock(ctx context.Context) error {
	wait := m.options.wait()
	begin := m.client.now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case m.slot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return m.held(true)
	}
	if wait != endlessWait {
		wait = clamp(wait-m.client.now().sub(begin), time.Millisecond, wait)
	}
	return m.take(ctx, wait)
}

// TryLock does not wait, as [Client.TryAcquire].
func (m *Mutex) TryLock(ctx context.Context) error {
	select {
	case m.slot <- struct{}{}:
		return m.take(ctx, 0)
	default:
		return m.held(false)
	}
}

// Unlock gives the lock back, as [Lease.Release] does, also if ctx has ended. The error is an
// [ErrLockLost] if the lock was lost, and [ErrNotLocked] if the mutex was not locked.
func (m *Mutex) Unlock(ctx context.Context) error {
	m.mutex.Lock()
	lease, isLocked := m.lease, m.isLocked
	m.isLocked = false
	m.mutex.Unlock()
	if !isLocked {
		return ErrNotLocked
	}
	defer func() { <-m.slot }()
	return lease.Release(ctx)
}

// Locked is true while nobody else can hold the lock.
func (m *Mutex) Locked() bool { return m.Err() == nil }

// Err is nil while nobody else can hold the lock, a [*LockLostError] after a loss, and [ErrNotLocked]
// if the mutex is not locked.
func (m *Mutex) Err() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.isLocked {
		return ErrNotLocked
	}
	return m.lease.Err()
}

// Lost returns a channel that is closed when the lock is lost. Each Lock has a channel of its own, and
// Unlock does not close it. Before the first Lock it is nil.
func (m *Mutex) Lost() <-chan struct{} {
	if lease := m.Lease(); lease != nil {
		return lease.Lost()
	}
	return nil
}

// FencingToken is the one of the last Lock: larger than that of every grant before. It is 0 before the
// first Lock.
func (m *Mutex) FencingToken() uint64 {
	if lease := m.Lease(); lease != nil {
		return lease.FencingToken()
	}
	return 0
}

// Lease is the one of the last Lock. It is nil before the first Lock.
func (m *Mutex) Lease() *Lease {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.lease
}

// String never shows the token.
func (m *Mutex) String() string {
	return fmt.Sprintf("holdfast.Mutex(%s, locked: %t)", setName(m.set), m.Locked())
}

// Format prints String, whatever the verb.
func (m *Mutex) Format(state fmt.State, _ rune) { fmt.Fprint(state, m.String()) }

// take asks the server. The slot is ours, and stays ours if the lock is granted.
func (m *Mutex) take(ctx context.Context, wait time.Duration) error {
	lease, err := m.client.acquire(ctx, m.set, m.options, wait)
	if err != nil {
		<-m.slot
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.lease, m.isLocked = lease, true
	return nil
}

// held is the error if another goroutine has locked this mutex.
func (m *Mutex) held(timedOut bool) error {
	held := &LockHeldError{Scope: setName(m.set), Holder: m.options.Owner, TimedOut: timedOut}
	if held.Holder == "" {
		held.Holder = m.client.Owner()
	}
	if lease := m.Lease(); lease != nil {
		held.ExpiresAt = lease.Info().ExpiresAt
	}
	return held
}
