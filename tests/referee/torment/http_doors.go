package torment

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"holdfast/tests/referee/history"
)

// web is what clients of the doors over HTTP have in common.
type web struct {
	*worker
	wire   *wire
	bearer string
}

func (w *web) close() { w.wire.close() }

func (w *web) send(method, path string, body any, wait time.Duration) (*httpAnswer, map[string]any, error) {
	var text []byte
	switch typed := body.(type) {
	case nil:
	case string:
		text = []byte(typed)
	default:
		text, _ = json.Marshal(body)
	}
	answer, err := w.wire.ask(method, path, w.bearer, text, patience+wait)
	if err != nil {
		return nil, nil, err
	}
	return answer, answer.fields(), nil
}

func (w *web) strangeAnswer(path string, answer *httpAnswer) result {
	if answer.status == 503 && strings.Contains(string(answer.body), "(it may have been done)") {
		return unknown
	}
	if answer.mayBeDone() {
		return unknown
	}
	if answer.status == 503 || answer.status == 507 {
		return failed // busy, stopping, at a limit, or its disk is full or has failed: nothing was done
	}
	if (answer.status == 401 || answer.status == 403) && w.run.lacksRights.Load() {
		return failed
	}
	return w.run.strangeAnswer(w.door, fmt.Sprintf("%s: %d %s", path, answer.status, answer.body))
}

// lost is how a request ended that was not answered.
func lost(err error) result {
	if errors.Is(err, errNotSent) {
		return failed
	}
	return unknown
}

// scoped is the native API, /v1/leases.
type scoped struct{ web }

func (c *scoped) cycle() {
	if c.chance(30) {
		c.lookAtElection(c.name("n"))
	}
	ask, body := c.wish()
	asked := time.Duration(ask.WaitMs) * time.Millisecond
	var granted result
	for try := 0; try < 4; try++ {
		granted = c.record(ask, func() result { return c.acquire(body, asked) })
		if granted.outcome != history.Unknown || ask.Request == "" || c.isOver.Load() {
			break
		}
	}
	if granted.outcome != history.OK {
		return
	}
	lease := granted.answer.Granted
	about := c.ask("", ask.Scopes...)
	about.Token, about.Limit = lease, ask.Limit
	c.hold(func() bool { return c.renew(about) }, func() bool { return c.lookOrUse(about, granted.answer.Number) },
		func() { c.release(about) })
}

// wish is a request of any kind: a name, shared or not, a semaphore, a range, a file, a path, a set, with a value, with an id.
func (c *scoped) wish() (history.Ask, map[string]any) {
	body := map[string]any{"holder": c.owner, "ttl_ms": ttl.Milliseconds()}
	ask := c.ask(history.Acquire)
	ask.TTLms = ttl.Milliseconds()
	switch c.random.Intn(10) {
	case 0, 1:
		ask.Scopes, ask.Limit = []string{"semaphore:" + c.name("s")}, 2
		body["limit"] = 2
	case 2, 3:
		start := c.random.Intn(40)
		ask.Scopes = []string{fmt.Sprintf("range:%d:%d-%d", c.file(), start, start+1+c.random.Intn(30))}
	case 4:
		ask.Scopes = []string{fmt.Sprintf("inode:%d", c.file())}
	case 5:
		ask.Scopes = []string{"path:/" + c.name("f")}
	case 6:
		first, second := c.name("n"), c.name("n")
		ask.Scopes = []string{first}
		if first != second {
			ask.Scopes = append(ask.Scopes, second)
		}
	default:
		ask.Scopes = []string{c.name("n")}
		if c.chance(30) {
			ask.Value = c.owner + "-1"
			body["value"] = ask.Value
		}
	}
	if ask.Limit == 0 && ask.Value == "" && c.chance(25) {
		ask.Shared = true
		body["mode"] = "shared"
	}
	if len(ask.Scopes) > 1 {
		body["scopes"] = ask.Scopes
	} else {
		body["scope"] = ask.Scopes[0]
	}
	if c.chance(50) {
		ask.WaitMs = int64(100 + c.random.Intn(2000))
		body["wait_ms"] = ask.WaitMs
	}
	if c.chance(40) {
		ask.Request = c.owner
		body["request_id"] = ask.Request
	}
	return ask, body
}

func (c *scoped) acquire(body map[string]any, wait time.Duration) result {
	answer, fields, err := c.send("POST", "/v1/leases", body, wait)
	if err != nil {
		return lost(err)
	}
	code := textOf(fields, "error")
	switch {
	case answer.status == 200:
		return ok(history.Answer{Granted: textOf(fields, "token"), Number: numberOf(fields, "fencing_token")})
	case code == "LockHeld" || code == "WaitTimedOut":
		return refused(history.Answer{Holder: holder(textOf(fields, "holder")), Text: code})
	case code == "RequestSuperseded" || code == "Cancelled" || code == "RequestEnded":
		return result{history.Failed, history.Answer{Text: code}}
	}
	return c.strangeAnswer("POST /v1/leases", answer)
}

// ended is the answer to any request with the token of a lease.
func (c *scoped) ended(path string, answer *httpAnswer, fields map[string]any) result {
	if answer.status == 404 || answer.status == 410 {
		return refused(history.Answer{Text: textOf(fields, "error")})
	}
	return c.strangeAnswer(path, answer)
}

func (c *scoped) renew(about history.Ask) bool {
	about.Kind, about.TTLms = history.Renew, ttl.Milliseconds()
	return c.record(about, func() result {
		answer, fields, err := c.send("POST", "/v1/leases/"+about.Token+"/renew", map[string]any{"ttl_ms": about.TTLms}, 0)
		if err != nil {
			return lost(err)
		}
		if answer.status == 200 {
			return ok(history.Answer{})
		}
		return c.ended("renew", answer, fields)
	}).outcome != history.Refused
}

func (c *scoped) release(about history.Ask) {
	about.Kind = history.Release
	c.record(about, func() result {
		answer, fields, err := c.send("DELETE", "/v1/leases/"+about.Token, nil, 0)
		if err != nil {
			return lost(err)
		}
		if answer.status == 200 {
			return ok(history.Answer{})
		}
		return c.ended("release", answer, fields)
	})
}

func (c *scoped) lookOrUse(about history.Ask, number uint64) bool {
	switch c.random.Intn(4) {
	case 0:
		return c.setValue(about)
	case 1:
		c.passFence(number)
	case 2:
		c.lookAtElection(about.Scopes[0])
	default:
		c.lookAtToken(about, number)
	}
	return true
}

func (c *scoped) setValue(about history.Ask) bool {
	about.Kind, about.Value = history.SetValue, fmt.Sprintf("%s-%d", c.owner, 2+c.random.Intn(4))
	defer c.lookAtElection(about.Scopes[0])
	return c.record(about, func() result {
		answer, fields, err := c.send("PUT", "/v1/leases/"+about.Token+"/value", map[string]any{"value": about.Value}, 0)
		if err != nil {
			return lost(err)
		}
		if answer.status == 200 {
			return ok(history.Answer{Revision: int(numberOf(fields, "revision"))})
		}
		return c.ended("value", answer, fields)
	}).outcome != history.Refused
}

// passFence shows the number of the lease to one of a few resources of this moment.
func (c *scoped) passFence(number uint64) {
	ask := c.ask(history.PassFence, c.fence())
	ask.Fence = number
	c.record(ask, func() result {
		answer, fields, err := c.send("POST", "/v1/fence/"+ask.Scopes[0], map[string]any{"fencing_token": number}, 0)
		if err != nil {
			return lost(err)
		}
		told := history.Answer{Number: numberOf(fields, "highest")}
		if answer.status == 200 {
			return ok(told)
		}
		if textOf(fields, "error") == "StaleFence" {
			return refused(told)
		}
		return c.strangeAnswer("fence", answer)
	})
	if c.chance(30) {
		look := c.ask(history.LookFence, ask.Scopes...)
		c.record(look, func() result {
			answer, fields, err := c.send("GET", "/v1/fence/"+look.Scopes[0], nil, 0)
			if err != nil || answer.status != 200 && answer.status != 404 {
				return unknown
			}
			return ok(history.Answer{Number: numberOf(fields, "highest")})
		})
	}
}

func (c *scoped) lookAtElection(scope string) {
	if scope[0] != 'n' {
		return
	}
	c.record(c.ask(history.Look, scope), func() result {
		answer, fields, err := c.send("GET", "/v1/elections/"+scope, nil, 0)
		if err != nil || answer.status != 200 {
			return unknown
		}
		leader := textOf(fields, "leader")
		if leader == "" {
			return failed // nobody leads during a grace, too: says less than a look at the lock
		}
		revision := int(numberOf(fields, "revision"))
		if revision == 0 {
			revision = history.NoRevision
		}
		return ok(history.Answer{Holder: holder(leader), Number: numberOf(fields, "fencing_token"), Revision: revision,
			Content: textOf(fields, "value")})
	})
}

// lookAtToken asks for the lease itself, which must be there as long as it lasts.
func (c *scoped) lookAtToken(about history.Ask, number uint64) {
	about.Kind = history.Renew // the lease is there, or it is gone; it is not prolonged
	about.TTLms = 1
	c.record(about, func() result {
		answer, fields, err := c.send("GET", "/v1/leases/"+about.Token, nil, 0)
		if err != nil {
			return lost(err)
		}
		if answer.status == 200 && numberOf(fields, "fencing_token") == number {
			return ok(history.Answer{Text: "looked at"})
		}
		return c.ended("look", answer, fields)
	})
}

// lockserver is /v1/locks.
type lockserver struct{ web }

func (c *lockserver) cycle() {
	body := map[string]any{"owner_id": c.owner, "ttl_ms": ttl.Milliseconds()}
	name := c.name("n")
	ask := c.ask(history.Acquire, name)
	ask.TTLms = ttl.Milliseconds()
	if c.chance(25) {
		name = c.name("s")
		ask.Scopes, ask.Limit = []string{"semaphore:" + name}, 2
		body["limit"] = 2
	} else if c.chance(20) {
		ask.Shared = true
		body["mode"] = "shared"
	}
	if c.chance(60) {
		ask.WaitMs = int64(100 + c.random.Intn(2500))
		body["wait_ms"] = ask.WaitMs
	}
	if c.chance(40) {
		ask.Request = c.owner
		body["request_id"] = ask.Request
	}
	if c.chance(40) {
		c.look(ask.Scopes[0], name)
	}
	var granted result
	for try := 0; try < 4; try++ {
		granted = c.record(ask, func() result { return c.acquire(name, body, time.Duration(ask.WaitMs)*time.Millisecond) })
		if granted.outcome != history.Unknown || ask.Request == "" || c.isOver.Load() {
			break
		}
	}
	if granted.outcome != history.OK {
		return
	}
	about := c.ask("", ask.Scopes...)
	about.Token, about.Limit = granted.answer.Granted, ask.Limit
	proof := map[string]any{"owner_id": c.owner, "lease_id": about.Token, "fencing_token": granted.answer.Number}
	c.hold(func() bool { return c.renew(name, about, proof) }, func() bool { c.look(ask.Scopes[0], name); return true },
		func() { c.release(name, about, proof) })
}

func (c *lockserver) acquire(name string, body map[string]any, wait time.Duration) result {
	answer, fields, err := c.send("POST", "/v1/locks/"+name+"/acquire", body, wait)
	if err != nil {
		return lost(err)
	}
	reason := textOf(fields, "reason")
	switch {
	case answer.mayBeDone():
		return unknown
	case answer.status == 200:
		return ok(history.Answer{Granted: textOf(fields, "lease_id"), Number: numberOf(fields, "fencing_token")})
	case reason == "HELD" || reason == "WAIT_TIMED_OUT":
		return refused(history.Answer{Holder: holder(textOf(fields, "current_owner_id")), Text: reason})
	case reason == "BUSY_RETRY" || reason == "REQUEST_SUPERSEDED" || reason == "CANCELLED" || reason == "REQUEST_ENDED":
		return result{history.Failed, history.Answer{Text: reason}}
	}
	return c.strangeAnswer("acquire", answer)
}

func (c *lockserver) renew(name string, about history.Ask, proof map[string]any) bool {
	about.Kind, about.TTLms = history.Renew, ttl.Milliseconds()
	body := map[string]any{"extend_by_ms": about.TTLms}
	for key, value := range proof {
		body[key] = value
	}
	return c.record(about, func() result {
		return c.proven("/v1/locks/"+name+"/renew", body, "renewed")
	}).outcome != history.Refused
}

func (c *lockserver) release(name string, about history.Ask, proof map[string]any) {
	about.Kind = history.Release
	c.record(about, func() result { return c.proven("/v1/locks/"+name+"/release", proof, "released") })
}

func (c *lockserver) proven(path string, body map[string]any, done string) result {
	answer, fields, err := c.send("POST", path, body, 0)
	if err != nil {
		return lost(err)
	}
	reason := textOf(fields, "reason")
	switch {
	case answer.mayBeDone():
		return unknown
	case fields[done] == true:
		return ok(history.Answer{})
	case reason == "NOT_OWNER" || reason == "NOT_OWNER_OR_EXPIRED":
		return refused(history.Answer{Text: reason})
	case reason == "BUSY_RETRY":
		return failed
	}
	return c.strangeAnswer(path, answer)
}

// look at the lock and its queue.
func (c *lockserver) look(scope, name string) {
	kind := "named"
	if scope != name {
		kind = "semaphore"
	}
	ask := c.ask(history.Look, scope)
	c.record(ask, func() result {
		answer, fields, err := c.send("GET", "/v1/locks/"+name+"?queue=true&kind="+kind, nil, 0)
		if err != nil || answer.status != 200 {
			return unknown
		}
		told := history.Answer{Holder: holder(textOf(fields, "owner_id")), Number: numberOf(fields, "fencing_token"),
			Free: fields["held"] == false}
		queue, _ := fields["queue"].([]any)
		for _, waiter := range queue {
			if entry, isObject := waiter.(map[string]any); isObject {
				told.Queue = append(told.Queue, textOf(entry, "owner_id"))
			}
		}
		return ok(told)
	})
}

// homelab is /lock. Its name is its proof, so it takes another one for each life.
type homelab struct{ web }

func (c *homelab) cycle() {
	name := c.name("n")
	path := "/lock?" + url.Values{"client": {c.owner}, "job": {name}}.Encode()
	ask := c.ask(history.Acquire, name)
	ask.Token, ask.Reentrant, ask.TTLms, ask.GraceMs = c.owner, true, ttl.Milliseconds(), grace.Milliseconds()
	acquire := func() result {
		return c.record(ask, func() result { return c.about("POST", path+"&ttl="+ttl.String(), 409) })
	}
	if acquire().outcome != history.OK {
		return
	}
	c.hold(func() bool { return acquire().outcome == history.OK }, nil, func() {
		ask := ask
		ask.Kind = history.Release
		c.record(ask, func() result {
			ended := c.about("DELETE", path, 403)
			ended.answer.Holder = ""
			return ended
		})
	})
}

func (c *homelab) about(method, path string, no int) result {
	answer, fields, err := c.send(method, path, nil, 0)
	if err != nil {
		return lost(err)
	}
	switch answer.status {
	case 200:
		return ok(history.Answer{Text: textOf(fields, "message")})
	case no:
		return refused(history.Answer{Holder: holder(textOf(fields, "holder")), Text: textOf(fields, "message")})
	}
	return c.strangeAnswer(method+" /lock", answer)
}

// terraform locks a state, and writes it under its lock. Its locks have no end.
type terraform struct{ web }

func (c *terraform) cycle() {
	name := c.name("n")
	path := "/v1/terraform/" + name
	ask := c.ask(history.Acquire, name)
	ask.Token, ask.Reentrant = c.owner, true
	proof := fmt.Sprintf(`{"ID":%q,"Who":%q}`, c.owner, c.owner)
	granted := c.record(ask, func() result { return c.locked(c.send("LOCK", path, proof, 0)) })
	if granted.outcome == history.Refused {
		return
	}
	if granted.outcome == history.OK {
		c.hold(func() bool { return c.write(name, path) }, func() bool { c.read(name, path); return true }, func() {})
	}
	// Nobody else ends its lock: so it does that always, also if it does not know whether it has one.
	ask.Kind = history.Release
	for try := 0; try < 20 && !c.isOver.Load(); try++ {
		released := c.record(ask, func() result {
			answer, fields, err := c.send("UNLOCK", path, proof, 0)
			if err == nil && answer.status == 409 {
				return refused(history.Answer{})
			}
			return c.locked(answer, fields, err)
		})
		if released.outcome == history.OK || released.outcome == history.Refused {
			return
		}
		c.pause(50, 200)
	}
}

func (c *terraform) locked(answer *httpAnswer, fields map[string]any, err error) result {
	if err != nil {
		return lost(err)
	}
	switch answer.status {
	case 200:
		return ok(history.Answer{})
	case 423:
		lock := fields
		if inner, isObject := fields["lock"].(map[string]any); isObject {
			lock = inner
		}
		return refused(history.Answer{Holder: holder(textOf(lock, "Who"))})
	case 500:
		return unknown // the disk has failed
	}
	return c.strangeAnswer("terraform", answer)
}

func (c *terraform) write(name, path string) bool {
	ask := c.ask(history.Write, name)
	ask.Token, ask.Holds, ask.Value = c.owner, true, fmt.Sprintf("%s-%d", c.owner, c.random.Intn(1000000))
	return c.record(ask, func() result {
		return c.locked(c.send("POST", path+"?ID="+c.owner, fmt.Sprintf(`{"content":%q}`, ask.Value), 0))
	}).outcome != history.Refused
}

func (c *terraform) read(name, path string) {
	c.record(c.ask(history.Read, name), func() result {
		answer, fields, err := c.send("GET", path, nil, 0)
		if err != nil || answer.status != 200 && answer.status != 404 {
			return unknown
		}
		return ok(history.Answer{Content: textOf(fields, "content")})
	})
}

// files is the file door: a session locks a file, and writes it.
type files struct {
	web
	session string // its name, which others are told
}

func (c *files) login() bool {
	answer, err := c.wire.ask("POST", "/auth/session", token, nil, patience)
	if err != nil || answer.status != 201 {
		return false
	}
	fields := answer.fields()
	c.bearer, c.session = textOf(fields, "sessionId"), textOf(fields, "name")
	return true
}

// cycle: a session is its own proof, as a name is. After a request without an answer it is not used again.
func (c *files) cycle() {
	if c.session == "" && !c.login() {
		c.pause(100, 300)
		return
	}
	c.owner = c.session
	name := c.name("f")
	path := "/" + name
	ask := c.ask(history.Acquire, "path:/"+name)
	ask.Token, ask.Reentrant, ask.TTLms = c.owner, true, ttl.Milliseconds()
	granted := c.record(ask, func() result { return c.about("GET", path+"?lock=acquire&ttl=2s", nil) })
	if granted.outcome == history.OK {
		c.hold(func() bool {
			ask := ask
			ask.Kind = history.Renew
			return c.record(ask, func() result { return c.about("GET", path+"?lock=refresh&ttl=2s", nil) }).outcome != history.Refused
		}, func() bool { c.read(name, path); return true }, func() { c.finish(ask, name, path) })
	} else if c.chance(30) && granted.outcome == history.Refused {
		c.write(name, path)
	}
}

func (c *files) finish(ask history.Ask, name, path string) {
	if c.chance(60) {
		c.write(name, path)
		return
	}
	ask.Kind = history.Release
	c.record(ask, func() result { return c.about("GET", path+"?lock=release", nil) })
}

func (c *files) write(name, path string) {
	ask := c.ask(history.Write, "path:/"+name)
	ask.Token, ask.Frees, ask.Value = c.owner, true, fmt.Sprintf("%s-%d", c.owner, c.random.Intn(1000000))
	mayFail := c.storeFails.Load()
	c.record(ask, func() result {
		written := c.about("PUT", path, ask.Value)
		written.answer.Kept = written.outcome == history.OK && (mayFail || c.storeFails.Load())
		return written
	})
}

func (c *files) read(name, path string) {
	c.record(c.ask(history.Read, "path:/"+name), func() result {
		answer, err := c.wire.ask("GET", path, c.bearer, nil, patience)
		if err != nil || answer.status != 200 && answer.status != 404 {
			return unknown
		}
		if answer.status == 404 {
			return ok(history.Answer{})
		}
		return ok(history.Answer{Content: string(answer.body)})
	})
}

func (c *files) about(method, path string, body any) result {
	answer, fields, err := c.send(method, path, body, 0)
	if err != nil {
		c.session = "" // what it has asked for may still be done
		return lost(err)
	}
	switch {
	case answer.status == 200 || answer.status == 201:
		return ok(history.Answer{})
	case answer.status == 423:
		return refused(history.Answer{Holder: holder(textOf(fields, "lockedBy"))})
	case answer.status == 404:
		return refused(history.Answer{})
	case answer.status == 500:
		return unknown // the disk has failed
	case answer.status == 401:
		c.session = "" // it has ended with the rights of its token
	}
	return c.strangeAnswer(method+" "+path, answer)
}
