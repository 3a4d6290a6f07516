package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// The server says something every 15 s.
	eventsSilenceMax = 45 * time.Second
	// After a stream that lasted for longer than this, patience begins anew.
	eventsLasting = 5 * time.Second
)

// Event is a transition of a lock.
type Event struct {
	// ID grows with every event. It is 0 for a gap.
	ID uint64
	// Kind is granted, renewed, value_set, released, expired, grace_ended, queued, wait_timed_out,
	// wait_cancelled, deadlock, session_opened, session_ended, fence_refused or audit. And gap: events are missing,
	// because the server does not remember all that happened while the client was not connected.
	Kind         string
	Name         string // of the lock, or of the resource of a fence
	LockKind     string // named, semaphore, path, inode or range
	Owner        string
	FencingToken uint64
	Metadata     string
	At           time.Time       // by the server's clock
	Data         json.RawMessage // all of it
}

// WatchOptions says which events are wanted. The zero value means all, from now on.
type WatchOptions struct {
	Prefix string // of the names of the locks
	After  uint64 // the ID of the last event that is known already
	OnOpen func() // called whenever a stream of events begins: at first, and after every break
}

// Watch calls each with every event of the locks of the server, until each returns an error or ctx
// ends; Watch then returns that error, or ctx.Err(). If the connection breaks, Watch goes on after the
// last event. The error is another one if the server refuses, or does not answer for
// [Options].RetryFor.
func (c *Client) Watch(ctx context.Context, options WatchOptions, each func(Event) error) error {
	f := follower{client: c, target: "/v1/events", after: options.After}
	if options.Prefix != "" {
		f.target += "?prefix=" + url.QueryEscape(options.Prefix)
	}
	f.onOpen = func() error {
		if options.OnOpen != nil {
			options.OnOpen()
		}
		return nil
	}
	f.onEvent = func(event Event) error { return ownError(each(event)) }
	return f.follow(ctx)
}

// programError is an error that a function of the program returned.
type programError struct{ err error }

func (e *programError) Error() string { return e.err.Error() }

func ownError(err error) error {
	if err == nil {
		return nil
	}
	return &programError{err}
}

// brokenStream is the end of a stream that may be opened again.
type brokenStream struct {
	err        error
	retryAfter time.Duration
}

func (e *brokenStream) Error() string { return e.err.Error() }

// follower follows the events from one stream to the next. Its functions return a programError to end
// that for good, and a brokenStream to begin with another stream.
type follower struct {
	client     *Client
	target     string
	after      uint64 // the ID of the last event
	beginsAnew bool   // a stream is asked for all of it, and not for what followed the last event
	onOpen     func() error
	onEvent    func(Event) error
}

func (f *follower) follow(ctx context.Context) error {
	patience := f.client.patience()
	for {
		begin := runningTime()
		err := f.followOne(ctx, &patience)
		var own *programError
		if errors.As(err, &own) {
			return own.err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var broken *brokenStream
		if !errors.As(err, &broken) {
			return err
		}
		if runningTime()-begin > eventsLasting {
			patience.reset()
		}
		if !patience.pause(ctx, broken.retryAfter) && ctx.Err() == nil {
			return broken.err
		}
	}
}

// followOne follows one stream to its end.
func (f *follower) followOne(ctx context.Context, patience *patience) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(f.client.options.Timeout, cancel)
	defer silence.Stop()
	response, from, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	silence.Stop()
	if err := f.onOpen(); err != nil {
		return err
	}
	patience.extend()
	silence.Reset(eventsSilenceMax)
	var stop error
	err = readEvents(response.Body, func() { silence.Reset(eventsSilenceMax) }, func(event Event) error {
		if event.ID != 0 && !f.beginsAnew {
			f.after = event.ID
		}
		silence.Stop() // the program may take its time
		stop = f.onEvent(event)
		silence.Reset(eventsSilenceMax)
		return stop
	})
	if stop != nil {
		return stop
	}
	return &brokenStream{err: &RequestError{
		Kind: ErrServerUnavailable, Server: from.name, Message: "the events broke off: " + err.Error(),
	}}
}

// open opens a stream at one address after the other, until there is one that answers.
func (f *follower) open(ctx context.Context) (*http.Response, *address, error) {
	request := ask{method: http.MethodGet, target: f.target}
	header := http.Header{"Accept": {"text/event-stream"}}
	if f.after != 0 {
		header.Set("Last-Event-ID", strconv.FormatUint(f.after, 10))
	}
	for tried := 1; ; tried++ {
		index := f.client.exchange.current.Load()
		from := f.client.exchange.addresses[index]
		response, isSent, err := f.client.exchange.send(ctx, from, request, header)
		if err == nil && response.StatusCode == http.StatusOK {
			return response, from, nil
		}
		failure := f.refusal(ctx, from, response, isSent, err)
		if failure.isFinal {
			return nil, nil, failure.err
		}
		f.client.exchange.turnFrom(index)
		if tried == len(f.client.exchange.addresses) || ctx.Err() != nil {
			return nil, nil, &brokenStream{err: failure.err, retryAfter: failure.retryAfter}
		}
	}
}

// refusal is why there is no stream.
func (f *follower) refusal(ctx context.Context, from *address, response *http.Response, isSent bool,
	err error) *noAnswer {
	if err != nil {
		return explain(ctx, from, f.client.options.Timeout, isSent, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return explain(ctx, from, f.client.options.Timeout, isSent, err)
	}
	answer, failure := judge(from, response, body)
	if failure == nil {
		failure = &noAnswer{err: answer.failure(), isFinal: true}
	}
	return failure
}
