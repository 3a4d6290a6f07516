package holdfast

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const answerBytesMax = 64 << 20

// exchange sends requests to the server and reads its answers. When one address does not answer, the
// next is tried.
type exchange struct {
	addresses []*address
	current   atomic.Uint32 // of addresses
	tokenFile string

	mutex sync.Mutex
	token secret
}

// ask is a request.
type ask struct {
	method  string
	target  string
	body    any // is sent as JSON, unless nil
	timeout time.Duration
	isOnce  bool // could do harm if it were done twice
}

// noAnswer is why there is no answer to a request.
type noAnswer struct {
	err           error
	isFinal       bool          // asking again would not help
	mayHaveEffect bool          // the request may have been done nevertheless
	isRefused     bool          // the server answered that it cannot answer now
	retryAfter    time.Duration // how long the server asked us to pause
}

func newExchange(options Options) (*exchange, error) {
	trusted, err := readTrusted(options.CAFile)
	if err != nil {
		return nil, err
	}
	e := &exchange{}
	for _, server := range options.Servers {
		address, err := newAddress(server, trusted, options.Timeout)
		if err != nil {
			return nil, err
		}
		e.addresses = append(e.addresses, address)
	}
	token := strings.TrimSpace(options.Token)
	if token == "" && options.TokenFile != "" {
		e.tokenFile = options.TokenFile
		if token, err = readTokenFile(e.tokenFile); err != nil {
			return nil, err
		}
	}
	e.token = newSecret(token)
	return e, requireToken(token)
}

// ask asks until there is an answer, or patience ends.
func (e *exchange) ask(ctx context.Context, ask ask, patience patience) (*answer, error) {
	for {
		answer, failure := e.askOnce(ctx, ask)
		if failure == nil {
			return answer, nil
		}
		if failure.isFinal || (ask.isOnce && failure.mayHaveEffect) {
			return nil, failure.err
		}
		if !patience.pause(ctx, failure.retryAfter) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, failure.err
		}
	}
}

// askOnce sends a request to one address or, while it certainly had no effect, to one after the
// other. After a failure the next request begins with the next address.
func (e *exchange) askOnce(ctx context.Context, ask ask) (*answer, *noAnswer) {
	for tried := 1; ; tried++ {
		index := e.current.Load()
		answer, failure := e.askAddress(ctx, e.addresses[index], ask)
		if failure == nil {
			return answer, nil
		}
		if ctx.Err() != nil {
			failure.err, failure.isFinal = ctx.Err(), true
			return nil, failure
		}
		e.turnFrom(index)
		hadNoEffect := !failure.mayHaveEffect || ask.method == http.MethodGet
		if tried == len(e.addresses) || !hadNoEffect || failure.isRefused {
			return nil, failure
		}
	}
}

// turnFrom turns to the next address once, however many requests fail at the same time.
func (e *exchange) turnFrom(index uint32) {
	e.current.CompareAndSwap(index, (index+1)%uint32(len(e.addresses)))
}

func (e *exchange) askAddress(ctx context.Context, to *address, ask ask) (*answer, *noAnswer) {
	limited, cancel := context.WithTimeout(ctx, ask.timeout)
	defer cancel()
	response, isSent, err := e.send(limited, to, ask, nil)
	if err != nil {
		return nil, explain(limited, to, ask.timeout, isSent, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return nil, explain(limited, to, ask.timeout, isSent, err)
	}
	return judge(to, response, body)
}

// judge tells answers from what is none.
func judge(from *address, response *http.Response, body []byte) (*answer, *noAnswer) {
	status := response.StatusCode
	answer := readAnswer(status, response.Header, body)
	if answer == nil {
		failure := &noAnswer{isFinal: true, mayHaveEffect: true}
		failure.err = notHoldfast(from.name, status,
			"it answered with status "+strconv.Itoa(status)+", but not as Holdfast does")
		if isTemporary(status) {
			failure.isFinal, failure.isRefused = false, true
			failure.err = &RequestError{Kind: ErrServerUnavailable, Server: from.name, Status: status,
				Message: "status " + strconv.Itoa(status)}
		}
		return nil, failure
	}
	answer.server = from.name
	if isTemporary(status) {
		// With 503 the server itself has done nothing; a gateway may have passed the request on.
		mayHaveEffect := status != http.StatusServiceUnavailable
		return nil, &noAnswer{err: answer.failure(), mayHaveEffect: mayHaveEffect, isRefused: true,
			retryAfter: answer.retryAfter}
	}
	return answer, nil
}

// send returns when the head of the answer is there. isSent is false if the request certainly did not
// reach the server. A transport is used directly: the errors of http.Client show URLs, which have
// tokens in them.
func (e *exchange) send(ctx context.Context, to *address, ask ask, header http.Header) (
	response *http.Response, isSent bool, err error) {
	var body io.Reader
	if ask.body != nil {
		text, err := json.Marshal(ask.body)
		if err != nil {
			return nil, false, err
		}
		body = bytes.NewReader(text)
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { isSent = true }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), ask.method,
		to.root+ask.target, body)
	if err != nil {
		return nil, false, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if ask.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	transport := to.transport
	if ask.isOnce {
		transport = to.once
	}
	token := e.currentToken()
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err = transport.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized && e.hasNewToken(token) {
		response.Body.Close()
		return e.send(ctx, to, ask, header)
	}
	return response, isSent, err
}

func (e *exchange) currentToken() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.token.reveal()
}

// hasNewToken is true if there is another token than the one that was refused: tokens are replaced
// while a program runs.
func (e *exchange) hasNewToken(refused string) bool {
	if e.tokenFile == "" {
		return false
	}
	token, err := readTokenFile(e.tokenFile)
	if err != nil || token == refused {
		return false
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.token = newSecret(token)
	return true
}

// explain turns an error of the network into a noAnswer.
func explain(ctx context.Context, to *address, timeout time.Duration, isSent bool, err error) *noAnswer {
	failure := &RequestError{Kind: ErrServerUnavailable, Server: to.name, Message: err.Error(), cause: err}
	none := &noAnswer{err: failure, mayHaveEffect: isSent}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate x509.CertificateInvalidError
	var noTLS tls.RecordHeaderError
	switch {
	case ctx.Err() != nil: // the caller of this function knows whether that was the timeout
		failure.Message, failure.cause = "no answer in "+timeout.String(), nil
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &certificate):
		none.isFinal = true
	case errors.As(err, &noTLS), speaksOtherwise(err.Error()):
		none.err = notHoldfast(to.name, 0, "it does not speak HTTP, or not over this kind of connection")
		none.isFinal = true
	}
	return none
}

// speaksOtherwise is true if something answered that was no HTTP at all. The standard library has no
// types for these errors. An answer that was cut off looks malformed, too, but begins as HTTP does.
func speaksOtherwise(message string) bool {
	for malformed, expected := range map[string]string{
		"malformed HTTP response \"":    "H",
		"malformed HTTP version \"":     "H",
		"malformed HTTP status code \"": "0123456789\"",
	} {
		if _, found, isThere := strings.Cut(message, malformed); isThere && found != "" {
			return !strings.Contains(expected, found[:1])
		}
	}
	return false
}
