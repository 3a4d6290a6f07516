package holdfast

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	socketPathMax     = 107 // bytes; the system allows no more for a Unix socket
	connectTimeoutMax = 5 * time.Second
	idleTimeout       = 60 * time.Second // the server closes idle connections after 75 s
	idleConnections   = 64
)

// address is one address of the server, and the connections to it.
type address struct {
	name      string // as it is shown to people
	root      string // what the URL of every request begins with
	transport *http.Transport
	once      *http.Transport // for requests that must not be repeated: a new connection for each
}

func newAddress(text string, trusted *x509.CertPool, timeout time.Duration) (*address, error) {
	if timeout > connectTimeoutMax {
		timeout = connectTimeoutMax
	}
	dialer := &net.Dialer{Timeout: timeout}
	transport := &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: timeout,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleTimeout,
	}
	a := &address{name: text, transport: transport}
	if path, isUnix := cutPrefix(text, "unix:"); isUnix {
		if path == "" {
			return nil, invalid("'unix:' names no socket")
		}
		if len(path) > socketPathMax {
			return nil, invalid("the path of '" + text + "' has more than " +
				strconv.Itoa(socketPathMax) + " bytes")
		}
		a.root = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
	} else if err := a.parseURL(text); err != nil {
		return nil, err
	}
	a.once = transport.Clone()
	a.once.DisableKeepAlives = true
	return a, nil
}

func (a *address) parseURL(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	text = strings.TrimRight(text, "/")
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return invalid("'" + a.name + "' is no http:// or https:// URL, no host:port and no unix:PATH")
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		a.name = parsed.Redacted()
		return invalid("'" + a.name + "' has more than a host, a port and a path")
	}
	a.name, a.root = text, text
	return nil
}

// readTrusted reads certificate authorities. Without a file they are those of the system.
func readTrusted(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, invalid("cannot read the certificate authorities: " + err.Error())
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, invalid("there is no certificate in " + path)
	}
	return pool, nil
}

func cutPrefix(text, prefix string) (rest string, found bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}
