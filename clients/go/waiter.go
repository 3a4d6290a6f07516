package holdfast

import (
	"context"
	"sync"
)

// Who waits. The server looks for deadlocks among waiters: each request names one, and so does the
// lease that it is granted. Two requests may name the same waiter only if the second waits with all
// that the first was granted.
//
// Goroutines have no names by which to tell waiters apart, and one client serves many of them: with one
// waiter for each client, goroutines that merely wait for each other would be refused. But the function
// of WithLock cannot end while it waits for what it asks for. So requests with its context have the
// waiter of this block. If two goroutines of the function ask at the same time, only the first of them
// has it. A lease without a block may be released by any goroutine; it has a waiter of its own, unless
// the program names one. In doubt, a deadlock is not noticed; a request that is only slow is not refused.

// block is a WithLock whose function runs.
type block struct {
	identity string

	mutex  sync.Mutex
	isBusy bool // a request has the waiter of the block, or a lease that is not released yet
	isOver bool
}

// The block of a client, and the waiter that the program named, in a context.
type (
	blockKey  struct{ client *Client }
	waiterKey struct{}
)

// WithWaiter names who waits, for every request with this context. Use it for a goroutine that acquires
// one lock after the other without [Client.WithLock]: then the server notices its deadlocks. The name
// must be unique among all clients of the server, and have at most 256 bytes. No other goroutine may
// release what is acquired with this context.
func WithWaiter(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, waiterKey{}, name)
}

// waiter is who waits for a lease, and then holds it.
type waiter struct {
	identity string
	block    *block // nil if the identity is not that of a block
}

// beginWait is the waiter of the next request. REQUIRES: end is called when what it was granted has been
// given back.
func (c *Client) beginWait(ctx context.Context, given string) waiter {
	if given == "" {
		given, _ = ctx.Value(waiterKey{}).(string)
	}
	if given != "" {
		return waiter{identity: given}
	}
	around, _ := ctx.Value(blockKey{c}).(*block)
	if around == nil || !around.take() {
		return waiter{identity: newRequestID()}
	}
	return waiter{identity: around.identity, block: around}
}

func (w waiter) end() {
	if w.block != nil {
		w.block.mutex.Lock()
		defer w.block.mutex.Unlock()
		w.block.isBusy = false
	}
}

// within is the context of a block, and a function that ends the block.
func (c *Client) within(ctx context.Context, w waiter) (context.Context, func()) {
	inside := &block{identity: w.identity}
	end := func() { // what the function has left running does not belong to the block any more
		inside.mutex.Lock()
		defer inside.mutex.Unlock()
		inside.isOver = true
	}
	return context.WithValue(ctx, blockKey{c}, inside), end
}

// take is true if the waiter of the block is free. It is taken then.
func (b *block) take() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.isBusy || b.isOver {
		return false
	}
	b.isBusy = true
	return true
}
