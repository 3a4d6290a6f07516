package holdfast_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

func TestAUnixSocketIsAServer(t *testing.T) {
	t.Parallel()
	ctx, s := brief(t), startServer(t)
	path := filepath.Join(s.folder, "socket")
	p := startProxyAt(t, s, "unix", path)
	client := connect(t, "unix:"+path)
	must(t, client.WithLock(ctx, "x", holdfast.LockOptions{}, func(context.Context) error {
		if !stateOf(t, s, "x").Held {
			t.Error("the lock is not held")
		}
		return nil
	}))
	p.loseAnswers(1, false)
	lease, err := client.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	must(t, lease.Release(ctx))
	p.listener.Close()
	p.cut()
	_, err = connect(t, "unix:"+path, func(options *holdfast.Options) { options.RetryFor = -1 }).Lookup(ctx, "x")
	mustBe(t, err, holdfast.ErrServerUnavailable)
	mustBe(t, err, syscall.ENOENT)
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	empty := write(t, "empty", " \n")
	for text, options := range map[string]holdfast.Options{
		"names no socket":     {Servers: []string{"unix:"}},
		"more than 107 bytes": {Servers: []string{"unix:/" + strings.Repeat("p", 107)}},
		"is no http":          {Servers: []string{"http://a,ftp://b"}},
		"no host":             {Servers: []string{"http://"}},
		"more than a host":    {Servers: []string{"http://user:password@host"}},
		"no token in":         {TokenFile: empty},
		"cannot read":         {TokenFile: empty + "2"},
		"not printable":       {Token: "a\nb"},
		"no certificate":      {CAFile: empty},
		"authorities":         {CAFile: empty + "2"},
		"UTF-8":               {Owner: "\xff"},
	} {
		_, err := holdfast.New(options)
		mustBe(t, err, holdfast.ErrBadRequest)
		if !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "password") {
			t.Errorf("%v does not say '%s'", err, text)
		}
	}
}

func TestTheEnvironment(t *testing.T) {
	s := startServer(t, "--auth-token-file", write(t, "auth", "first"))
	t.Setenv("HOLDFAST_SERVER", s.address()+","+s.url())
	t.Setenv("HOLDFAST_TOKEN_FILE", write(t, "auth2", "\n first \nsecond\n"))
	client, err := holdfast.New(holdfast.Options{})
	must(t, err)
	must(t, client.PassFence(brief(t), "x", 1))
	t.Setenv("HOLDFAST_TOKEN", "wrong")
	client, err = holdfast.New(holdfast.Options{})
	must(t, err)
	mustBe(t, client.PassFence(brief(t), "x", 1), holdfast.ErrUnauthorized)
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	ctx := brief(t)
	auth, admin := write(t, "auth", "first"), write(t, "admin", "admin")
	s := startServer(t, "--auth-token-file", auth, "--admin-token-file", admin)
	with := func(token string) *holdfast.Client {
		return connect(t, s.url(), func(options *holdfast.Options) { options.Token = token })
	}
	for _, client := range []*holdfast.Client{with(""), with("wrong")} {
		_, err := client.Acquire(ctx, "x", holdfast.LockOptions{})
		mustBe(t, err, holdfast.ErrUnauthorized)
		mustBe(t, client.Watch(ctx, holdfast.WatchOptions{}, nil), holdfast.ErrUnauthorized)
	}
	user := connect(t, s.url(), func(options *holdfast.Options) { options.TokenFile = auth })
	lease, err := user.Acquire(ctx, "x", holdfast.LockOptions{})
	must(t, err)
	_, err = user.ForceRelease(ctx, "x")
	mustBe(t, err, holdfast.ErrForbidden)
	var denied *holdfast.RequestError
	if !errors.As(err, &denied) || denied.Right != "admin" || denied.On != "*" {
		t.Fatalf("the error is %v", err)
	}
	mustBe(t, user.DropFence(ctx, "x"), holdfast.ErrForbidden)

	must(t, os.WriteFile(auth, []byte("second\n"), 0o600))
	must(t, s.process.Process.Signal(syscall.SIGHUP))
	until(t, "the server has read its new secret", func() bool {
		_, _, err := with("second").GetFence(ctx, "x")
		return err == nil
	})
	must(t, lease.Release(ctx)) // the client reads it, too
	must(t, with("admin").DropFence(ctx, "x"))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ctx := brief(t)
	certificate, key := newCertificate(t)
	s := startServerOf(t, "https", "--tls-cert", certificate, "--tls-key", key)
	trusting := func(options *holdfast.Options) { options.CAFile = certificate }
	must(t, connect(t, s.url(), trusting).Mutex("x", holdfast.LockOptions{}).Lock(ctx))
	begin := time.Now()
	_, err := connect(t, s.url()).Acquire(ctx, "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrServerUnavailable)
	if !strings.Contains(err.Error(), "certificate") || time.Since(begin) > 9*time.Second {
		t.Fatalf("after %v: %v", time.Since(begin), err)
	}
	_, port, err := net.SplitHostPort(s.address())
	must(t, err)
	_, err = connect(t, "https://localhost:"+port, trusting).Acquire(ctx, "x", holdfast.LockOptions{})
	mustBe(t, err, holdfast.ErrServerUnavailable) // the certificate has another name
}

// write writes a file that only this user can read.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func newCertificate(t testing.TB) (certificateFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return write(t, "cert.pem", encode("CERTIFICATE", certificate)), write(t, "key.pem", encode("PRIVATE KEY", secret))
}
