package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	holdfast "holdfast/clients/go"
)

func TestScopesAreTexts(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client, other := connect(t, s.url()), connect(t, s.url())
	for _, scope := range []string{
		"job:7", "a/b c%", "named:path:x", "path:/x y", "inode:7", "range:8:0-4096", "range:8:4096-",
	} {
		lease, err := client.TryAcquire(ctx, scope, holdfast.LockOptions{})
		must(t, err)
		if lease.Info().Scope != scope {
			t.Errorf("%s became %s", scope, lease.Info().Scope)
		}
		_, err = other.TryAcquire(ctx, scope, holdfast.LockOptions{})
		mustBe(t, err, holdfast.ErrLockHeld)
	}
	_, err := other.TryAcquire(ctx, "range:7:0-1", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrLockHeld) // the inode is held
	_, err = client.TryAcquire(ctx, "named:x", holdfast.LockOptions{})
	must(t, err)
	_, err = other.TryAcquire(ctx, "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrLockHeld)
	for _, scope := range []string{"", "inode:x", "range:7:5-5", "path:"} {
		_, err := client.TryAcquire(ctx, scope, holdfast.LockOptions{})
		mustBe(t, err, holdfast.ErrBadRequest)
	}
	for _, scope := range []string{"a/b c%", "path:/x y", "inode:7", "range:8:0-4096"} {
		if ended, err := client.ForceRelease(ctx, scope); ended != 1 || err != nil {
			t.Errorf("%d leases on %s have ended: %v", ended, scope, err)
		}
	}
}

func TestSemaphoresAndSharedLocks(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	for _, scope := range []string{"s", "named:s", "semaphore:s"} {
		_, err := client.TryAcquire(ctx, scope, holdfast.LockOptions{Limit: 3})
		must(t, err)
	}
	_, err := client.TryAcquire(ctx, "s", holdfast.LockOptions{Limit: 3})
	mustBe(t, err, holdfast.ErrLockHeld)
	for options, code := range map[holdfast.LockOptions]string{{Limit: 4}: "LimitMismatch", {}: "KindMismatch"} {
		_, err := client.TryAcquire(ctx, "s", options)
		var refused *holdfast.RequestError
		if !errors.Is(err, holdfast.ErrBadRequest) || !errors.As(err, &refused) || refused.Code != code {
			t.Fatalf("%v is not %s", err, code)
		}
	}
	for i := 0; i < 2; i++ {
		lease, err := client.TryAcquire(ctx, "book", holdfast.LockOptions{Shared: true})
		must(t, err)
		if !lease.Info().Shared {
			t.Fatal("the lease is not shared")
		}
	}
	_, err = client.TryAcquire(ctx, "book", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrLockHeld)

	for scope, options := range map[string]holdfast.LockOptions{
		"path:/x": {Limit: 2}, "semaphore:x": {}, "x": {Limit: -1}, "y": {TTL: -1}, "z\xff": {}, "m": {Metadata: "\xff"},
	} {
		_, err := client.TryAcquire(ctx, scope, options)
		mustBe(t, err, holdfast.ErrBadRequest)
	}
}

func TestAFenceRefusesAnOlderNumber(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	if _, isKnown, err := client.GetFence(ctx, "a/bucket"); isKnown || err != nil {
		t.Fatalf("there is a fence: %v", err)
	}
	must(t, client.PassFence(ctx, "a/bucket", 34))
	must(t, client.PassFence(ctx, "a/bucket", 34))
	err := client.PassFence(ctx, "a/bucket", 33)
	mustBe(t, err, holdfast.ErrStaleFence)
	var stale *holdfast.StaleFenceError
	if !errors.As(err, &stale) || *stale != (holdfast.StaleFenceError{Resource: "a/bucket", FencingToken: 33, Highest: 34}) {
		t.Fatalf("the error is %+v", err)
	}
	if highest, isKnown, err := client.GetFence(ctx, "a/bucket"); highest != 34 || !isKnown || err != nil {
		t.Fatalf("the fence is %d: %v", highest, err)
	}
	must(t, client.DropFence(ctx, "a/bucket"))
	must(t, client.PassFence(ctx, "a/bucket", 1))
	mustBe(t, client.PassFence(ctx, "", 1), holdfast.ErrBadRequest)
}

func TestATokenIsCheckedAgainstAScope(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url())
	lease, err := client.Acquire(ctx, "range:7:0-4096", holdfast.LockOptions{})
	must(t, err)
	info, err := client.Check(ctx, lease.Token(), "range:7:0-512")
	must(t, err)
	if info.FencingToken != lease.FencingToken() {
		t.Fatalf("the lease is %+v", info)
	}
	_, err = client.Check(ctx, lease.Token(), "range:7:0-5000")
	var mismatch *holdfast.ScopeMismatchError
	if !errors.Is(err, holdfast.ErrScopeMismatch) || !errors.As(err, &mismatch) || mismatch.Held != "range:7:0-4096" {
		t.Fatalf("the error is %v", err)
	}
	reader, err := client.Acquire(ctx, "book", holdfast.LockOptions{Shared: true})
	must(t, err)
	_, err = client.CheckShared(ctx, reader.Token(), "book")
	must(t, err)
	_, err = client.Check(ctx, reader.Token(), "book")
	mustBe(t, err, holdfast.ErrScopeMismatch)

	info, err = client.Lookup(ctx, lease.Token())
	must(t, err)
	if info.Scope != "range:7:0-4096" {
		t.Fatalf("the lease is %+v", info)
	}
	must(t, lease.Release(ctx))
	_, err = client.Check(ctx, lease.Token(), "range:7:0-512")
	mustBe(t, err, holdfast.ErrLockLost)
	_, err = client.Lookup(ctx, lease.Token())
	mustBe(t, err, holdfast.ErrLockLost)
}

func TestLeasesAreListedPageByPage(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	client := connect(t, s.url(), named("lister"))
	for i := 0; i < 5; i++ {
		_, err := client.Acquire(ctx, fmt.Sprint("job", i), holdfast.LockOptions{})
		must(t, err)
	}
	_, err := client.Acquire(ctx, "inode:7", holdfast.LockOptions{Owner: "somebody"})
	must(t, err)
	var seen []string
	filter := holdfast.LeaseFilter{Owner: "lister", Limit: 2}
	must(t, client.Leases(ctx, filter, func(info holdfast.LeaseInfo) error {
		seen = append(seen, info.Scope)
		return nil
	}))
	if strings.Join(seen, " ") != "job0 job1 job2 job3 job4" {
		t.Fatalf("the leases are %v", seen)
	}
	enough := errors.New("enough")
	mustBe(t, client.Leases(ctx, holdfast.LeaseFilter{Inode: 7}, func(info holdfast.LeaseInfo) error {
		if info.Owner != "somebody" {
			t.Errorf("the lease is %+v", info)
		}
		return enough
	}), enough)
}

func TestNoTokenIsShown(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	const secret = "the-secret-of-the-server"
	client := connect(t, s.url(), func(options *holdfast.Options) { options.Token = secret })
	mutex := client.Mutex("x", holdfast.LockOptions{})
	must(t, mutex.Lock(ctx))
	lease := mutex.Lease()
	token := lease.Token()
	if len(token) != 32 || !strings.Contains(fmt.Sprint(lease), "x by "+client.Owner()) {
		t.Fatalf("the lease is %v", lease)
	}
	type inside struct {
		Lease  *holdfast.Lease
		lease  *holdfast.Lease
		Mutex  any
		client *holdfast.Client
		info   holdfast.LeaseInfo
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, value := range []any{client, mutex, lease, lease.Info(), holdfast.Options{Token: secret}} {
			mustNotShow(t, fmt.Sprintf(verb, value), token, secret)
		}
	}
	within := inside{lease, lease, mutex, client, lease.Info()}
	mustNotShow(t, fmt.Sprintf("%v %+v %#v", within, within, within), token, secret)
	for _, value := range []any{client, mutex, lease, lease.Info()} {
		text, err := json.Marshal(value)
		must(t, err)
		mustNotShow(t, string(text), token, secret)
	}
	s.kill()
	short, cancel := context.WithTimeout(ctx, 1)
	defer cancel()
	mustNotShow(t, fmt.Sprint(lease.Release(short)), token, secret)
	_, err := connect(t, s.url(), func(options *holdfast.Options) { options.RetryFor = -1 }).Lookup(ctx, token)
	mustNotShow(t, fmt.Sprintf("%v %+v %#v", err, err, err), token, secret)
}

func mustNotShow(t testing.TB, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		hexadecimal := fmt.Sprintf("%x", secret)
		if strings.Contains(text, secret) || strings.Contains(text, hexadecimal) {
			t.Fatalf("%s shows a secret", text)
		}
	}
}
