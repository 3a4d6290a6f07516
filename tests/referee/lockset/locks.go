package lockset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func newLock(system string, addresses []string, number int) (lock, error) {
	name := fmt.Sprintf("client-%d", number)
	switch system {
	case "holdfast":
		return &holdfastLock{web: newWeb(addresses), name: name}, nil
	case "etcd":
		return &etcdLock{web: newWeb(addresses)}, nil
	case "etcd with numbers":
		return &etcdLock{web: newWeb(addresses), asksForNumber: true}, nil
	case "redis":
		return &redisLock{address: addresses[0], name: name}, nil
	case "postgresql":
		return &postgresLock{address: addresses[0], name: name}, nil
	}
	return nil, fmt.Errorf("no system %q", system)
}

// web asks one of several addresses, and another one after an error.
type web struct {
	client    *http.Client
	addresses []string
	place     *atomic.Int64 // of the address in use
}

func newWeb(addresses []string) web {
	w := web{&http.Client{}, addresses, &atomic.Int64{}}
	w.place.Store(int64(rand.Intn(len(addresses))))
	return w
}

func (w *web) ask(method, path string, body, answer any, patience time.Duration) error {
	return askAt(w.client, w.addresses[int(w.place.Load())%len(w.addresses)], method, path, body, answer, patience)
}

func (w *web) useAnother() { w.place.Add(1) }

func askAt(client *http.Client, address, method, path string, body, answer any, patience time.Duration) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, "http://"+address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	limited := *client
	limited.Timeout = patience
	response, err := limited.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errAnswer{fmt.Sprintf("%s: %d %s", path, response.StatusCode, read), response.StatusCode}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(read, answer)
}

// errAnswer: the server has answered that it did not do it.
type errAnswer struct {
	text   string
	status int
}

func (e errAnswer) Error() string { return e.text }

// insist sends a request at one address after the other until it is answered. It must do no harm twice.
func (w *web) insist(method, path string, body any) error {
	var err error
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		err = w.ask(method, path, body, nil, patience)
		if err == nil || !isUnknown(err) {
			return err
		}
		w.useAnother()
	}
	return err
}

// isUnknown: there was no answer, or one that asks to try again.
func isUnknown(err error) bool {
	var answer errAnswer
	return !errors.As(err, &answer) || answer.status == http.StatusServiceUnavailable
}

const (
	patience = 2 * time.Second  // for an answer that need not wait
	longest  = 30 * time.Second // that a client waits for its turn, before it asks again
)

// holdfastLock: a lease of the native API, with a place in the queue. A request without an answer is sent again with its id, as the SDKs
// do: it finds the lease that was granted.
type holdfastLock struct {
	web
	name  string
	count int
	// isAsking: it is not known what became of the last request.
	isAsking bool
	token    held
}

func (l *holdfastLock) acquire() (uint64, error) {
	if !l.isAsking {
		l.count++
	}
	var lease struct {
		Token  string `json:"token"`
		Number uint64 `json:"fencing_token"`
	}
	wish := map[string]any{"scope": "set", "holder": fmt.Sprintf("%s-%d", l.name, l.count), "ttl_ms": ttl.Milliseconds(),
		"wait_ms": longest.Milliseconds(), "request_id": fmt.Sprintf("%s-%d", l.name, l.count)}
	err := l.ask("POST", "/v1/leases", wish, &lease, longest+patience)
	l.isAsking = err != nil && isUnknown(err)
	if err != nil {
		l.useAnother()
		return 0, err
	}
	l.token.set(lease.Token)
	return lease.Number, nil
}

func (l *holdfastLock) renew() {
	if token := l.token.get(); token != "" {
		_ = l.ask("POST", "/v1/leases/"+token+"/renew", map[string]any{"ttl_ms": ttl.Milliseconds()}, nil, patience)
	}
}

func (l *holdfastLock) release() error {
	token := l.token.get()
	l.token.set("")
	return l.insist("DELETE", "/v1/leases/"+token, nil)
}

// etcdLock: etcd's lock recipe, as its server does it for clients of v3/lock: a session is a lease that is kept alive, and a lock is
// a key of the session that waits for those before it. The revision that created this key can serve as a fencing number: it has to
// be asked for. After an error the client begins a new session, and the old one ends at its TTL.
type etcdLock struct {
	web
	asksForNumber bool
	session       held
	key           string
}

func (l *etcdLock) acquire() (uint64, error) {
	number, err := l.lockInSession()
	if err != nil {
		l.session.set("")
		l.useAnother()
	}
	return number, err
}

func (l *etcdLock) lockInSession() (uint64, error) {
	if l.session.get() == "" {
		var lease struct{ ID string }
		if err := l.ask("POST", "/v3/lease/grant", map[string]any{"TTL": int(ttl.Seconds())}, &lease, patience); err != nil {
			return 0, err
		}
		l.session.set(lease.ID)
	}
	var answer struct{ Key string }
	name := base64.StdEncoding.EncodeToString([]byte("set"))
	if err := l.ask("POST", "/v3/lock/lock", map[string]any{"name": name, "lease": l.session.get()}, &answer, longest); err != nil {
		return 0, err
	}
	l.key = answer.Key
	if !l.asksForNumber {
		return 0, nil
	}
	return l.revision()
}

// revision that created the key of the lock. There is none if the session ended while it waited.
func (l *etcdLock) revision() (uint64, error) {
	var found struct {
		Kvs []struct {
			Revision string `json:"create_revision"`
		}
	}
	if err := l.ask("POST", "/v3/kv/range", map[string]any{"key": l.key}, &found, patience); err != nil {
		return 0, err
	}
	if len(found.Kvs) == 0 {
		return 0, fmt.Errorf("the key of the lock is gone")
	}
	return strconv.ParseUint(found.Kvs[0].Revision, 10, 64)
}

func (l *etcdLock) renew() {
	if session := l.session.get(); session != "" {
		_ = l.ask("POST", "/v3/lease/keepalive", map[string]any{"ID": session}, nil, patience)
	}
}

func (l *etcdLock) release() error {
	err := l.insist("POST", "/v3/lock/unlock", map[string]any{"key": l.key})
	if err != nil {
		l.session.set("")
	}
	return err
}

// redisLock: SET NX PX, asked again and again as redis-py does, and scripts that compare.
type redisLock struct {
	address string
	name    string
	count   int
	value   held
	line    *redisLine
}

const (
	redisRelease = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end"
	redisRenew   = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end"
)

func (l *redisLock) acquire() (uint64, error) {
	l.count++
	value := fmt.Sprintf("%s-%d", l.name, l.count)
	for {
		answer, err := l.do("SET", "set", value, "NX", "PX", strconv.FormatInt(ttl.Milliseconds(), 10))
		if err != nil {
			return 0, err
		}
		if answer == "+OK" {
			l.value.set(value)
			return 0, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (l *redisLock) do(words ...string) (string, error) {
	if l.line == nil {
		line, err := dialRedis(l.address)
		if err != nil {
			return "", err
		}
		l.line = line
	}
	answer, err := l.line.do(words...)
	if err != nil {
		l.line.connection.Close()
		l.line = nil
	}
	return answer, err
}

func (l *redisLock) renew() {
	value := l.value.get()
	if value == "" {
		return
	}
	line, err := dialRedis(l.address)
	if err != nil {
		return
	}
	defer line.connection.Close()
	_, _ = line.do("EVAL", redisRenew, "1", "set", value, strconv.FormatInt(ttl.Milliseconds(), 10))
}

func (l *redisLock) release() error {
	value := l.value.get()
	l.value.set("")
	answer, err := l.do("EVAL", redisRelease, "1", "set", value)
	if err == nil && !strings.HasPrefix(answer, ":1") {
		err = fmt.Errorf("the lock was lost")
	}
	return err
}
