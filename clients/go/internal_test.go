package holdfast

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// A process that was stopped and goes on finds its clock far ahead: it knows of the loss at once,
// before the heartbeat has looked at the clock.
func TestALeaseIsLostWhenTheClockHasGoneOn(t *testing.T) {
	client, err := New(Options{Servers: []string{"127.0.0.1:1"}, RetryFor: -1})
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	client.now = func() instant { return instant(now.Load()) }
	granted := &grant{token: newSecret("t"), info: LeaseInfo{TTL: time.Minute}, lastsUntil: instant(time.Minute)}
	lease, err := client.keep(granted, true)
	if err != nil {
		t.Fatal(err)
	}
	now.Store(int64(55*time.Second - 1)) // the margin is five seconds
	if err := lease.Err(); err != nil || lease.TimeLeft() != 1 {
		t.Fatalf("%v is left, %v", lease.TimeLeft(), err)
	}
	now.Store(int64(55 * time.Second))
	if err := lease.Err(); !errors.Is(err, ErrLockLost) || lease.TimeLeft() != 0 {
		t.Fatalf("the lease is %v", err)
	}
	select {
	case <-lease.Lost():
	default:
		t.Fatal("the loss was not told")
	}
	now.Store(0) // what is lost stays lost
	if err := lease.Err(); !errors.Is(err, ErrLockLost) {
		t.Fatalf("the lease is %v", err)
	}
	if _, err := client.keep(&grant{token: newSecret("t")}, true); !errors.Is(err, ErrLockLost) {
		t.Fatalf("a lease that has ended is kept: %v", err)
	}
}

func TestTheBootClockGoesOn(t *testing.T) {
	before := bootTime()
	time.Sleep(20 * time.Millisecond)
	if passed := bootTime().sub(before); passed < 20*time.Millisecond || passed > time.Minute {
		t.Fatalf("%v have passed", passed)
	}
}

func TestPatienceEnds(t *testing.T) {
	p := patience{retryFor: 200 * time.Millisecond}
	begin := runningTime()
	attempts := 0
	for p.pause(context.Background(), 0) {
		attempts++
	}
	if attempts < 2 || attempts > 5 || runningTime()-begin > 10*time.Second {
		t.Fatalf("%d attempts in %v", attempts, runningTime()-begin)
	}
	p.reset()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if p.pause(ended, 0) || p.pause(context.Background(), time.Hour) {
		t.Fatal("there is another attempt")
	}
	p = patience{retryFor: -1}
	if p.pause(context.Background(), 0) {
		t.Fatal("there is another attempt")
	}
}

func TestAddresses(t *testing.T) {
	for text, name := range map[string]string{
		"127.0.0.1:8080":       "http://127.0.0.1:8080",
		"[::1]:8080":           "http://[::1]:8080",
		"lock.example.org":     "http://lock.example.org",
		"https://a.example/":   "https://a.example",
		"http://a.example/hf/": "http://a.example/hf",
		"unix:/run/x.sock":     "unix:/run/x.sock",
	} {
		address, err := newAddress(text, nil, time.Second)
		if err != nil || address.name != name {
			t.Errorf("%s became %v: %v", text, address, err)
		}
	}
}

const stream = ": hello\n\nid: 7\r\nevent: granted\r\ndata: {\"lock_name\":\"x\",\"kind\":\"named\",\"at_ms\":1000,\r\n" +
	"data: \"fencing_token\":9}\r\n\r\nevent: gap\ndata: {}\n\nid: 8\nevent: fence_refused\n" +
	"data: {\"resource\":\"r\",\"owner_id\":1}\n\nid: 9\nevent: granted\ndata: {}\n"

func TestAStreamOfEventsMayBeCutAnywhere(t *testing.T) {
	var events []Event
	lines := 0
	err := readEvents(iotest.OneByteReader(strings.NewReader(stream)), func() { lines++ }, func(event Event) error {
		events = append(events, event)
		return nil
	})
	if err != io.EOF || lines != strings.Count(stream, "\n") || len(events) != 3 { // the last event is not complete
		t.Fatalf("%d lines, %v: %+v", lines, err, events)
	}
	first := events[0]
	if first.ID != 7 || first.Kind != "granted" || first.Name != "x" || first.FencingToken != 9 || first.At.Unix() != 1 {
		t.Fatalf("the first event is %+v", first)
	}
	if events[1].ID != 0 || events[1].Kind != "gap" || events[2].Name != "r" || events[2].ID != 8 {
		t.Fatalf("the events are %+v", events)
	}
	for size := range stream {
		before := len(events)
		_ = readEvents(strings.NewReader(stream[:size]), func() {}, func(event Event) error {
			events = append(events, event)
			return nil
		})
		if got := len(events) - before; got != strings.Count(stream[:size], "}\n\n")+strings.Count(stream[:size], "}\r\n\r") {
			t.Fatalf("%d events in %q", got, stream[:size])
		}
	}
}

func TestAnswersThatAreNotHTTP(t *testing.T) {
	for message, isStrange := range map[string]bool{
		`malformed HTTP response "SSH-2.0-x"`:           true,
		`malformed HTTP response "\x15\x03\x01"`:        true,
		`malformed HTTP status code "mail.example.org"`: true,
		`malformed HTTP response "HTTP/1."`:             false, // cut off
		`malformed HTTP status code "20"`:               false,
		`malformed HTTP status code ""`:                 false,
		`connection refused`:                            false,
	} {
		if speaksOtherwise(message) != isStrange {
			t.Errorf("%s is misunderstood", message)
		}
	}
}
