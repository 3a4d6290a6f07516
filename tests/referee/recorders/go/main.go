// A client of the SDK for Go. Arguments: server, file of the token, name, seed, the beginning of the run in nanoseconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	holdfast "holdfast/clients/go"
)

const (
	ttl        = 2 * time.Second
	generation = 4 * time.Second // as long, all recorders use the same names
	names      = 3
)

type recorder struct {
	name, owner string
	start       int64
	next        int
	random      *rand.Rand
}

type fields map[string]any

// now is CLOCK_MONOTONIC, as all recorders have it.
func now() int64 {
	var at syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

func (r *recorder) write(line fields) {
	line["at_ns"] = now()
	text, _ := json.Marshal(line)
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func (r *recorder) invoke(kind, scope string, more fields) int {
	r.next++
	line := fields{"event": "invoked", "op": r.next, "client": r.owner, "door": "go", "kind": kind, "scopes": []string{scope}, "owner": r.owner}
	for key, value := range more {
		line[key] = value
	}
	r.write(line)
	return r.next
}

func (r *recorder) end(operation int, outcome string, answer fields) {
	line := fields{"event": outcome, "op": operation}
	for key, value := range answer {
		line[key] = value
	}
	r.write(line)
}

func (r *recorder) cycle(client *holdfast.Client) {
	scope := fmt.Sprintf("sdk%d-%d", (now()-r.start)/int64(generation), r.random.Intn(names))
	options := holdfast.LockOptions{TTL: ttl, Shared: r.random.Intn(4) == 0, Wait: 500 * time.Millisecond}
	ask := client.Acquire
	if r.random.Intn(3) == 0 {
		options.Wait, ask = 0, client.TryAcquire
	}
	began := time.Now()
	operation := r.invoke("acquire", scope, fields{"ttl_ms": ttl.Milliseconds(), "wait_ms": options.Wait.Milliseconds() + 1, "shared": options.Shared})
	lease, err := ask(context.Background(), scope, options)
	var held *holdfast.LockHeldError
	switch {
	case errors.As(err, &held) && time.Since(began) < options.Wait+time.Second:
		// A later refusal is unknown. The SDK asks again when there is no answer: the first request may have been granted, and its lease
		// may have ended since.
		r.end(operation, "refused", fields{"holder": held.Holder})
		return
	case err != nil:
		r.end(operation, "unknown", fields{"text": err.Error()})
		return
	}
	number := lease.FencingToken()
	r.end(operation, "ok", fields{"granted_token": lease.Token(), "number": number})
	for step := r.random.Intn(8); step > 0; step-- {
		time.Sleep(time.Duration(r.random.Intn(600)) * time.Millisecond)
		operation = r.invoke("look", scope, nil)
		if lease.Err() == nil {
			r.end(operation, "ok", fields{"holder": r.owner, "number": number})
		} else {
			r.end(operation, "failed", nil)
		}
	}
	operation = r.invoke("release", scope, fields{"token": lease.Token()})
	if err := lease.Release(context.Background()); err != nil {
		r.end(operation, "unknown", fields{"text": err.Error()})
	} else {
		r.end(operation, "ok", nil)
	}
}

func main() {
	seed, _ := strconv.ParseInt(os.Args[4], 10, 64)
	start, _ := strconv.ParseInt(os.Args[5], 10, 64)
	r := &recorder{name: os.Args[3], start: start, random: rand.New(rand.NewSource(seed))}
	for life := 1; ; life++ {
		r.owner = fmt.Sprintf("%s-%d", r.name, life)
		client, err := holdfast.New(holdfast.Options{Servers: []string{os.Args[1]}, TokenFile: os.Args[2], Owner: r.owner, Timeout: ttl,
			RetryFor: 3 * time.Second})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		r.cycle(client)
		client.Close()
		time.Sleep(time.Duration(10+r.random.Intn(90)) * time.Millisecond)
	}
}
