package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	holdfast "holdfast/clients/go"
)

func Example() {
	ctx := context.Background()
	client, err := holdfast.New(holdfast.Options{}) // HOLDFAST_SERVER, or http://127.0.0.1:8080
	if err != nil {
		log.Fatal(err)
	}

	// Acquire: the lease renews itself, and is released when the function returns.
	options := holdfast.LockOptions{TTL: 6 * time.Second}
	err = client.WithLock(ctx, "nightly-backup", options, func(ctx context.Context) error {
		for _, part := range []string{"photos", "letters"} {
			if ctx.Err() != nil { // ctx ends when the lock is lost
				return ctx.Err()
			}
			fmt.Println("storing", part)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	// Wait: two programs want the printer.
	first := client.Mutex("printer", holdfast.LockOptions{TTL: 6 * time.Second})
	if err := first.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	second := client.Mutex("printer", holdfast.LockOptions{Wait: 100 * time.Millisecond})
	var held *holdfast.LockHeldError
	if err := second.Lock(ctx); errors.As(err, &held) {
		fmt.Println("the wait is over, held by the first:", held.Holder == client.Owner())
	}

	// Lose: an admin ends the lease. The first learns of it at its next renewal.
	if _, err := client.ForceRelease(ctx, "printer"); err != nil {
		log.Fatal(err)
	}
	<-first.Lost()
	fmt.Println("the first has lost it:", errors.Is(first.Unlock(ctx), holdfast.ErrLockLost))

	// Fence: work that the first had begun comes too late.
	if err := second.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	if err := client.PassFence(ctx, "paper", second.FencingToken()); err != nil {
		log.Fatal(err)
	}
	err = client.PassFence(ctx, "paper", first.FencingToken())
	fmt.Println("the first is refused:", errors.Is(err, holdfast.ErrStaleFence))
	if err := second.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// storing photos
	// storing letters
	// the wait is over, held by the first: true
	// the first has lost it: true
	// the first is refused: true
}

func ExampleClient_Campaign() {
	ctx := context.Background()
	client, err := holdfast.New(holdfast.Options{})
	if err != nil {
		log.Fatal(err)
	}
	lease, err := client.Campaign(ctx, holdfast.Candidacy{Election: "scheduler", Value: "10.0.0.7:9000"})
	if err != nil {
		log.Fatal(err)
	}
	resigned := errors.New("seen enough")
	err = client.Observe(ctx, "scheduler", func(leader *holdfast.Leader) error {
		fmt.Println("the leader is at", leader.Value)
		return resigned
	})
	fmt.Println(err, lease.Release(ctx))
	// Output:
	// the leader is at 10.0.0.7:9000
	// seen enough <nil>
}
