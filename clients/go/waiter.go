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

// block is a WithLock whose function runs. One user at a time has its waiter: a request, or the lease
// that the request was granted.
type block struct {
	identity string

	mutex  sync.Mutex
	isBusy bool
	isOver bool
	onFree func()
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
	around   *block // whose waiter this is; nil if it is none of a block
	inside   *block // what the waiter has made of its lease; nil if it is no block
}

// beginWait is the waiter of the next request. REQUIRES: end is called once, when what it was granted has
// been given back.
func (c *Client) beginWait(ctx context.Context, given string) *waiter {
	if given == "" {
		given, _ = ctx.Value(waiterKey{}).(string)
	}
	if given != "" {
		return &waiter{identity: given}
	}
	around, _ := ctx.Value(blockKey{c}).(*block)
	if around == nil || !around.take() {
		return &waiter{identity: newRequestID()}
	}
	return &waiter{identity: around.identity, around: around}
}

// end is called when the lease was given back, or not granted. A lease that the function of the block has
// left behind is still held.
func (w *waiter) end() {
	switch {
	case w == nil || w.around == nil:
	case w.inside != nil:
		w.inside.whenFree(w.around.free)
	default:
		w.around.free()
	}
}

// within is the context of a block, and a function that ends the block.
func (c *Client) within(ctx context.Context, w *waiter) (context.Context, func()) {
	w.inside = &block{identity: w.identity}
	return context.WithValue(ctx, blockKey{c}, w.inside), w.inside.end
}

// take is true if the waiter of the block was free. It is taken then.
func (b *block) take() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.isBusy || b.isOver {
		return false
	}
	b.isBusy = true
	return true
}

func (b *block) free() {
	b.mutex.Lock()
	b.isBusy = false
	onFree := b.onFree
	b.mutex.Unlock()
	if onFree != nil {
		onFree()
	}
}

// end: what the function has left running does not belong to the block any more.
func (b *block) end() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.isOver = true
}

// whenFree calls back when nobody has the waiter. REQUIRES: the block is over, or ends without another
// user.
func (b *block) whenFree(work func()) {
	b.mutex.Lock()
	isBusy := b.isBusy
	if isBusy {
		b.onFree = work
	}
	b.mutex.Unlock()
	if !isBusy {
		work()
	}
}
