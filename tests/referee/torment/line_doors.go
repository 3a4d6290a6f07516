package torment

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/tests/referee/history"
)

// dflockd speaks in lines. A lease may end with the connection that acquired it, so each one has a connection of its own.
type dflockd struct {
	*worker
	address string
	lines   *lines

	mutex     sync.Mutex
	held      *history.Ask // the release of the lease that it has
	isDoubted bool         // the connection is about to break, and has not been made again
}

// doubt is called before the proxy breaks the connection of the client, which ends its lease. The history says so in time; the
// client itself does not know it yet.
func (c *dflockd) doubt() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.isDoubted = true
	if c.held != nil && c.endsWithConnection {
		c.recorder.Invoke(*c.held)
		c.held = nil
	}
}

// holds is false if the connection has been broken since it was made: then nobody knows of the lease.
func (c *dflockd) holds(about history.Ask) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	about.Kind = history.Release
	c.held = &about
	return !c.isDoubted || !c.endsWithConnection
}

func (c *dflockd) close() {
	if c.lines != nil {
		_ = c.lines.connection.Close()
		c.lines = nil
	}
}

func (c *dflockd) cycle() {
	defer c.close()
	c.mutex.Lock()
	c.held, c.isDoubted = nil, false
	c.mutex.Unlock()
	connected, err := dialLines(c.address)
	if err != nil {
		return
	}
	c.lines = connected
	if answer, err := c.lines.dflockd(patience, "auth", "_", token); err != nil || answer != "ok" {
		return
	}
	ask, prefix, argument := c.wish()
	key := strings.TrimPrefix(ask.Scopes[0], "semaphore:")
	granted := c.record(ask, func() result {
		answered := c.acquire(prefix+"l", key, argument, ask.WaitMs)
		about := ask
		about.Token = answered.answer.Granted
		if answered.outcome == history.OK && !c.holds(about) {
			return unknown
		}
		return answered
	})
	if granted.outcome != history.OK {
		return
	}
	about := c.ask("", ask.Scopes...)
	about.Token, about.Limit = granted.answer.Granted, ask.Limit
	isReleased := false
	c.hold(func() bool {
		about := about
		about.Kind, about.TTLms = history.Renew, ttl.Milliseconds()
		seconds := strconv.Itoa(int(ttl.Seconds()))
		return c.record(about, func() result { return c.proven(prefix+"n", key, about.Token+" "+seconds) }).outcome == history.OK
	}, nil, func() {
		about := about
		about.Kind = history.Release
		isReleased = c.record(about, func() result { return c.proven(prefix+"r", key, about.Token) }).outcome == history.OK
	})
	if c.endsWithConnection && !isReleased {
		// The end of the connection is a release without an answer.
		about.Kind = history.Release
		c.record(about, func() result { c.close(); return unknown })
	}
}

func (c *dflockd) wish() (ask history.Ask, prefix, argument string) {
	wait, seconds := c.random.Intn(3), int(ttl.Seconds())
	ask = c.ask(history.Acquire, c.name("n"))
	ask.TTLms, ask.WaitMs = ttl.Milliseconds(), int64(wait)*1000
	argument = fmt.Sprintf("%d %d", wait, seconds)
	if c.chance(30) {
		ask.Scopes, ask.Limit, prefix = []string{"semaphore:" + c.name("s")}, 2, "s"
		argument = fmt.Sprintf("%d 2 %d", wait, seconds)
	}
	return ask, prefix, argument
}

func (c *dflockd) acquire(command, key, argument string, waitMs int64) result {
	answer, err := c.lines.dflockd(patience+time.Duration(waitMs)*time.Millisecond, command, key, argument)
	if err != nil {
		return unknown
	}
	words := strings.Fields(answer)
	switch {
	case len(words) == 3 && words[0] == "ok" && len(words[1]) == 32:
		number, _ := strconv.ParseUint(words[1][:16], 16, 64)
		return ok(history.Answer{Granted: words[1], Number: number})
	case answer == "timeout":
		return refused(history.Answer{})
	case answer == "error":
		return unknown // the store has failed, and the protocol has no word for what may have been done
	case answer == "error_draining" || answer == "error_max_locks" || answer == "error_max_waiters",
		strings.HasPrefix(answer, "error_denied") && c.lacksRights.Load():
		return result{history.Failed, history.Answer{Text: answer}}
	}
	return c.strangeAnswer(c.door, command+": "+answer)
}

func (c *dflockd) proven(command, key, argument string) result {
	answer, err := c.lines.dflockd(patience, command, key, argument)
	if err != nil {
		return unknown
	}
	switch {
	case answer == "ok" || strings.HasPrefix(answer, "ok "):
		return ok(history.Answer{})
	case strings.HasPrefix(answer, "error_denied") && c.lacksRights.Load():
		return failed
	case answer == "error":
		return unknown // the lease has ended, or the store has failed: the protocol has one word for both
	}
	return c.strangeAnswer(c.door, command+": "+answer)
}

// The scripts that lock clients of Redis use.
const (
	renewScript   = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"
	releaseScript = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
)

// redisClient locks as clients of Redis do: SET NX PX, and scripts that compare the value.
type redisClient struct {
	*worker
	address string
	lines   *lines
}

func (c *redisClient) close() {
	if c.lines != nil {
		_ = c.lines.connection.Close()
		c.lines = nil
	}
}

func (c *redisClient) connect() bool {
	if c.lines != nil {
		return true
	}
	connected, err := dialLines(c.address)
	if err != nil {
		return false
	}
	c.lines = connected
	if answer, err := c.lines.redis(patience, "AUTH", token); err != nil || answer != "OK" {
		c.close()
		return false
	}
	return true
}

func (c *redisClient) cycle() {
	if !c.connect() {
		c.pause(50, 200)
		return
	}
	key := c.name("n")
	ask := c.ask(history.Acquire, key)
	ask.Token, ask.TTLms = c.owner, ttl.Milliseconds()
	lasts := strconv.FormatInt(ask.TTLms, 10)
	words := []string{"SET", key, c.owner, "NX", "PX", lasts}
	if c.chance(30) {
		ask.WaitMs = int64(200 + c.random.Intn(1500))
		words = []string{"HOLDFAST.ACQUIRE", key, c.owner, lasts, strconv.FormatInt(ask.WaitMs, 10)}
	}
	granted := c.record(ask, func() result { return c.acquire(words, ask.WaitMs) })
	if granted.outcome != history.OK {
		return
	}
	about := c.ask("", key)
	about.Token = c.owner
	c.hold(func() bool {
		about := about
		about.Kind, about.TTLms = history.Renew, ttl.Milliseconds()
		return c.record(about, func() result { return c.script(renewScript, key, c.owner, lasts) }).outcome == history.OK
	}, func() bool { c.look(key); return true }, func() {
		about := about
		about.Kind = history.Release
		c.record(about, func() result { return c.script(releaseScript, key, c.owner) })
	})
}

// say is one command; after an error the connection is not used again.
func (c *redisClient) say(wait time.Duration, words ...string) (any, bool) {
	if !c.connect() {
		return errNotSent, true
	}
	reply, err := c.lines.redis(patience+wait, words...)
	if err != nil {
		c.close()
		return nil, false
	}
	if text, isError := reply.(redisError); isError && strings.HasPrefix(string(text), "NOPERM") {
		c.close() // a secret that has changed once is not accepted again on the same connection
		if !c.lacksRights.Load() {
			c.strangeAnswer(c.door, string(text))
		}
	}
	return reply, true
}

func (c *redisClient) acquire(words []string, waitMs int64) result {
	reply, isAnswered := c.say(time.Duration(waitMs)*time.Millisecond, words...)
	if !isAnswered {
		return unknown
	}
	switch typed := reply.(type) {
	case nil:
		return refused(history.Answer{})
	case string:
		if typed == "OK" {
			return ok(history.Answer{})
		}
	case int64:
		return ok(history.Answer{Number: uint64(typed)})
	case redisError:
		return failedOrUnknown(typed)
	case error:
		return lost(typed)
	}
	return c.strangeAnswer(c.door, fmt.Sprint(words[0], ": ", reply))
}

func failedOrUnknown(said redisError) result {
	if strings.Contains(string(said), doubt) {
		return unknown
	}
	return result{history.Failed, history.Answer{Text: string(said)}}
}

func (c *redisClient) script(text, key string, arguments ...string) result {
	reply, isAnswered := c.say(0, append([]string{"EVAL", text, "1", key}, arguments...)...)
	if !isAnswered {
		return unknown
	}
	switch typed := reply.(type) {
	case int64:
		if typed == 1 {
			return ok(history.Answer{})
		}
		return refused(history.Answer{})
	case redisError:
		return failedOrUnknown(typed)
	case error:
		return lost(typed)
	}
	return c.strangeAnswer(c.door, fmt.Sprint("EVAL: ", reply))
}

func (c *redisClient) look(key string) {
	c.record(c.ask(history.Look, key), func() result {
		reply, isAnswered := c.say(0, "GET", key)
		value, isText := reply.(string)
		if !isAnswered || reply != nil && !isText {
			return unknown
		}
		return ok(history.Answer{Holder: holder(value), Free: reply == nil})
	})
}
