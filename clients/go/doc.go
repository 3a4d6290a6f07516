// Package holdfast is a client of Holdfast, the lock server. It needs nothing but the standard
// library.
//
//	client, err := holdfast.New(holdfast.Options{}) // HOLDFAST_SERVER, or http://127.0.0.1:8080
//	if err != nil {
//		return err
//	}
//	return client.WithLock(ctx, "nightly-backup", holdfast.LockOptions{}, func(ctx context.Context) error {
//		return backUp(ctx, holdfast.FencingToken(ctx)) // ctx ends when the lock is lost
//	})
//
// A lock is a lease: the server takes it back from a holder that stays away for longer than the TTL
// of the lease. This package renews a lease every third of its TTL, and four times as often after a
// renewal that failed.
//
// # What a held lock promises
//
// While [Lease.Err] is nil, nobody else holds the lock. The lease is measured by a clock that nobody
// can set and that, on Linux, goes on while the machine sleeps. The guarantee counts from before the
// last confirmed request was sent, and ends five seconds before the lease does, or a sixth of the
// TTL if that is less. When the guarantee ends, or the server says that the lease has ended, the
// lock is lost: the channel of [Lease.Lost] is closed, once, and a lost lock stays lost.
//
// A process may be stopped between a check and the write that follows. So send the fencing token
// with every write, and let the storage refuse smaller numbers than the largest it has seen. If the
// storage cannot do that, [Client.PassFence] asks the server.
//
// # When answers are lost
//
// A request without an answer is repeated for [Options].RetryFor, at the next server. A request for
// a lock has an id, the same in every repetition: if only its answer was lost, the repetition finds
// the same lease. A request that could do harm when it is done twice is sent once.
package holdfast
