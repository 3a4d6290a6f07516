package holdfast_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	holdfast "holdfast/clients/go"
)

func TestWhatIsNotHoldfastIsCalledThat(t *testing.T) {
	t.Parallel()
	ctx := brief(t)
	for _, stranger := range []struct {
		status int
		body   string
	}{
		{http.StatusNotFound, "<html>nothing here</html>"},
		{http.StatusNotFound, `{"error":"no such page"}`},
		{http.StatusOK, "<html>welcome</html>"},
		{http.StatusOK, `{"ok":true}`},
		{http.StatusOK, `[]`},
		{http.StatusMovedPermanently, ""},
		{http.StatusForbidden, "<html>go away</html>"},
		{http.StatusBadRequest, `{"error":{"code":7}}`},
	} {
		f := startFake(t, func(int, *http.Request) (int, string) { return stranger.status, stranger.body })
		client := connect(t, f.URL)
		for call, err := range map[string]error{
			"Acquire":      errorOf(client.Acquire(ctx, "x", holdfast.LockOptions{})),
			"PassFence":    client.PassFence(ctx, "x", 1),
			"Check":        errorOf(client.Check(ctx, "x", "x")),
			"Lookup":       errorOf(client.Lookup(ctx, "x")),
			"ForceRelease": errorOf(client.ForceRelease(ctx, "x")),
		} {
			if !errors.Is(err, holdfast.ErrNotHoldfast) || !strings.Contains(err.Error(), f.URL) {
				t.Errorf("%s says to %d %s: %v", call, stranger.status, stranger.body, err)
			}
		}
		if count := len(f.requests()); count != 5 {
			t.Errorf("%d requests were sent, not 5", count)
		}
	}
}

func TestWhatIsNotHTTPIsNotHoldfast(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1))
			fmt.Fprint(connection, "220 mail.example.org ready\r\n")
			connection.Close()
		}
	}()
	_, err = connect(t, listener.Addr().String()).TryAcquire(brief(t), "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrNotHoldfast)

	f := startFake(t, func(int, *http.Request) (int, string) { return http.StatusOK, "{}" })
	client := connect(t, strings.Replace(f.URL, "http:", "https:", 1))
	_, err = client.TryAcquire(brief(t), "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrNotHoldfast)
}

func errorOf[T any](_ T, err error) error { return err }
