package holdfast_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// jobOfLockServer is the example of LockServer's SDK, as it stands, and what a program does with it: it
// works for a while, and tells what it saw. The lock is free when it returns.
func jobOfLockServer(ctx context.Context, client *holdfast.Client, opts holdfast.RetryOptions,
	hbOpts holdfast.HeartbeatOptions, work func(*holdfast.Lease)) (uint64, <-chan error, error) {
	lease, err := client.AcquireWithRetry(ctx, "job-lock", "worker-1", opts)

	token := lease.FencingTokenValue()
	// downstream write must enforce fencing

	hbErrs := client.StartHeartbeat(ctx, lease, hbOpts)

	defer client.ReleaseOnce(ctx, lease)

	if err == nil {
		work(lease)
	}
	return token, hbErrs, err
}

func TestTheExampleOfLockServerRuns(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	opts := holdfast.RetryOptions{TTL: 6 * time.Second}
	hbOpts := holdfast.HeartbeatOptions{Interval: 50 * time.Millisecond}
	token, hbErrs, err := jobOfLockServer(ctx, client, opts, hbOpts, func(lease *holdfast.Lease) {
		untilRenewed(t, lease)
		must(t, lease.Err())
		if info := lease.Info(); info.Scope != "job-lock" || info.Owner != "worker-1" {
			t.Errorf("the lease is %v", lease)
		}
		if lease.FencingTokenValue() != lease.FencingToken() {
			t.Error("the fencing token has two values")
		}
	})
	must(t, err)
	if err, isOpen := <-hbErrs; isOpen {
		t.Errorf("the heartbeat said %v", err)
	}
	lease, err := client.TryAcquire(ctx, "job-lock", holdfast.LockOptions{})
	must(t, err) // it was given back
	if lease.FencingToken() <= token || token == 0 {
		t.Errorf("%d does not follow %d", lease.FencingToken(), token)
	}
	// As it stands, the example looks at the error last of all.
	opts.MaxRetries = -1
	token, hbErrs, err = jobOfLockServer(ctx, client, opts, hbOpts, nil)
	mustBe(t, err, holdfast.ErrLockHeld)
	mustBe(t, <-hbErrs, holdfast.ErrNotLocked)
	if token != 0 {
		t.Errorf("a lease that there is none of has the fencing token %d", token)
	}
}

// The page for those who come from LockServer shows what ran.
func TestThePageShowsTheExampleOfLockServer(t *testing.T) {
	page, err := os.ReadFile("../../docs/coming-from/lockserver.md")
	must(t, err)
	test, err := os.ReadFile("lockserver_test.go")
	must(t, err)
	shown := find(t, string(page), "(?s)```go\n(.*?)```")[1]
	ran := find(t, string(test), `(?s)<-chan error, error\) \{\n(.*?)\n\tif err == nil`)[1]
	if shown != strings.ReplaceAll(ran, "\t", "") {
		t.Errorf("the page shows\n%s", shown)
	}
}

func TestALeaseOfAcquireWithRetryIsNotRenewedByItself(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.AcquireWithRetry(ctx, "x", "", holdfast.RetryOptions{TTL: 300 * time.Millisecond})
	must(t, err)
	if lease.Info().Owner != client.Owner() {
		t.Errorf("the owner is %s", lease.Info().Owner)
	}
	<-lease.Lost()
	mustBe(t, lease.Err(), holdfast.ErrLockLost)
	mustBe(t, <-client.StartHeartbeat(ctx, lease, holdfast.HeartbeatOptions{}), holdfast.ErrLockLost)
	mustBe(t, client.ReleaseOnce(ctx, lease), holdfast.ErrLockLost)
	must(t, client.ReleaseOnce(ctx, lease)) // once was enough
	again, err := client.TryAcquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	must(t, client.Release(ctx, again))
	mustBe(t, <-client.StartHeartbeat(ctx, again, holdfast.HeartbeatOptions{}), holdfast.ErrNotLocked)
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	holder, err := client.TryAcquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	for _, options := range []holdfast.RetryOptions{
		{MaxRetries: -1},
		{MaxRetries: 2, MaxRetry: 20 * time.Millisecond},
		{MaxTotalWait: 100 * time.Millisecond, MaxRetry: 30 * time.Millisecond},
	} {
		_, err := client.AcquireWithRetry(ctx, "x", "", options)
		var held *holdfast.LockHeldError
		if !errors.As(err, &held) || held.Holder != client.Owner() || held.TimedOut {
			t.Errorf("%v ended with %v", options, err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = client.AcquireWithRetry(short, "x", "", holdfast.RetryOptions{})
	mustBe(t, err, context.DeadlineExceeded)

	// Enough attempts find the lock free.
	time.AfterFunc(100*time.Millisecond, func() { _ = holder.Release(context.Background()) })
	lease, err := client.AcquireWithRetry(ctx, "x", "w", holdfast.RetryOptions{MaxRetry: 30 * time.Millisecond})
	must(t, err)
	if lease.FencingToken() <= holder.FencingToken() {
		t.Error("the fencing token did not grow")
	}
	_, err = client.AcquireWithRetry(ctx, "inode:x", "", holdfast.RetryOptions{})
	mustBe(t, err, holdfast.ErrBadRequest) // which is not repeated
}

func TestAHeartbeatTellsOfTheLoss(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.AcquireWithRetry(ctx, "x", "", holdfast.RetryOptions{TTL: 900 * time.Millisecond})
	must(t, err)
	errs := client.StartHeartbeat(ctx, lease, holdfast.HeartbeatOptions{Interval: 20 * time.Millisecond})
	if _, err := client.ForceRelease(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	mustBe(t, <-errs, holdfast.ErrLockLost)
	if err, isOpen := <-errs; isOpen {
		t.Errorf("after the loss the heartbeat said %v", err)
	}
	mustBe(t, lease.Err(), holdfast.ErrLockLost)
}

func TestAHeartbeatTellsOfRenewalsThatFail(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.AcquireWithRetry(ctx, "x", "", holdfast.RetryOptions{TTL: 6 * time.Second})
	must(t, err)
	itself, err := client.Acquire(ctx, "y", holdfast.LockOptions{TTL: 6 * time.Second})
	must(t, err)
	errs := client.StartHeartbeat(ctx, lease, holdfast.HeartbeatOptions{Interval: 40 * time.Millisecond})
	others := client.StartHeartbeat(ctx, itself, holdfast.HeartbeatOptions{})
	s.kill()
	<-lease.Lost() // nobody has read: the last 16 errors are there, and the loss comes
	for _, channel := range []<-chan error{errs, others} {
		mustBe(t, <-channel, holdfast.ErrServerUnavailable)
		var last error
		count := 1
		for last = range channel {
			count++
		}
		mustBe(t, last, holdfast.ErrLockLost)
		if count < 3 || (channel == errs && count > 17) {
			t.Errorf("there were %d errors", count)
		}
	}
}

func TestAHeartbeatEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.AcquireWithRetry(ctx, "x", "", holdfast.RetryOptions{TTL: 3 * time.Second})
	must(t, err)
	short, cancel := context.WithCancel(ctx)
	errs := client.StartHeartbeat(short, lease, holdfast.HeartbeatOptions{Interval: 50 * time.Millisecond})
	untilRenewed(t, lease)
	cancel()
	if err, isOpen := <-errs; isOpen {
		t.Errorf("the heartbeat said %v", err)
	}
	<-lease.Lost() // nobody renews it any more
}

// As at /v1/locks: the lease ends at now + ExtendBy, or when it would have ended anyway.
func TestAHeartbeatNeverMakesALeaseShorter(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.AcquireWithRetry(ctx, "x", "", holdfast.RetryOptions{TTL: 7 * time.Second})
	must(t, err)
	granted := lease.Info().ExpiresAt
	client.StartHeartbeat(ctx, lease, holdfast.HeartbeatOptions{ExtendBy: 6 * time.Second, Interval: 50 * time.Millisecond})
	until(t, "several renewals", func() bool { return lease.Info().TTL < 6500*time.Millisecond })
	if ends := lease.Info().ExpiresAt; ends.Before(granted) {
		t.Errorf("it ends at %v instead of %v", ends, granted)
	}
	until(t, "it is extended", func() bool { return lease.Info().TTL == 6*time.Second })
	untilRenewed(t, lease)
	must(t, lease.Err())
}

func untilRenewed(t testing.TB, lease *holdfast.Lease) {
	t.Helper()
	before := lease.Info().ExpiresAt
	until(t, "it is renewed", func() bool { return lease.Info().ExpiresAt.After(before) })
}
