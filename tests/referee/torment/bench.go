package torment

import (
	"fmt"
	"math/rand"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/tests/referee/history"
)

// run is what all clients of one run share. Thread safe.
type run struct {
	recorder *history.Recorder
	start    time.Time
	isOver   atomic.Bool
	// Leases of dflockd's clients end with their connection.
	endsWithConnection bool
	// lacksRights is true while clients may be refused for lack of rights.
	lacksRights atomic.Bool
	// storeFails is true while the locks may not be written: a file that was written may then stay locked until its lease ends.
	storeFails atomic.Bool

	mutex   sync.Mutex
	strange map[string]bool  // answers that no document describes
	granted map[string]int64 // of each door at each place: when the newest lease that was granted was asked for
}

func newRun(recorder *history.Recorder, seed int64) *run {
	return &run{recorder: recorder, start: time.Now(), endsWithConnection: seed%2 != 0, strange: map[string]bool{},
		granted: map[string]int64{}}
}

func (r *run) kind() string {
	if r.endsWithConnection {
		return "leases of dflockd's clients end with their connections"
	}
	return "leases of dflockd's clients outlive their connections"
}

func (r *run) strangeAnswer(door, what string) result {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.strange) < 100 {
		r.strange[door+": "+what] = true
	}
	return unknown
}

func (r *run) allStrange() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var all []string
	for answer := range r.strange {
		all = append(all, answer)
	}
	sort.Strings(all)
	return all
}

func (r *run) noteGrant(where string, asked int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if last, isKnown := r.granted[where]; !isKnown || asked > last {
		r.granted[where] = asked
	}
}

func (r *run) withoutGrantSince(asked int64) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var missing []string
	for where, last := range r.granted {
		if last < asked {
			missing = append(missing, where)
		}
	}
	sort.Strings(missing)
	return missing
}

// torment is one thing that goes wrong, and is over when it returns.
type torment struct {
	name string
	do   func() error
	// isApart: it has a turn only if it is the only one, because it would show a known fault of somebody else.
	isApart bool
}

// bench is the clients and the proxies between them and what is tormented.
type bench struct {
	run     *run
	random  *rand.Rand
	proxies []*Proxy
	dflockd []*dflockd // through a proxy
	// recorders are clients of the SDKs.
	recorders []*recorder
	places    int
	clients   int
}

// addProxies for all doors of one place.
func (b *bench) addProxies(doors Doors) (Doors, error) {
	b.places++
	through := doors
	for _, address := range []*string{&through.HTTP, &through.Dflockd, &through.Redis, &through.Files} {
		proxy, err := NewProxy(*address)
		if err != nil {
			return through, err
		}
		*address = proxy.Address()
		b.proxies = append(b.proxies, proxy)
	}
	return through, nil
}

func (b *bench) close() {
	for _, one := range b.recorders {
		one.end()
	}
	for _, proxy := range b.proxies {
		proxy.Close()
	}
}

// startClients starts one client of each door at the place that was added last, and two of /v1/leases.
func (b *bench) startClients(doors Doors, isThroughProxy bool, random *rand.Rand, group *sync.WaitGroup) {
	at := func(door string) *worker {
		b.clients++
		w := newWorker(b.run, door, b.clients, random.Int63())
		w.where = fmt.Sprintf("%s at %d", door, b.places)
		b.run.noteGrant(w.where, 0)
		return w
	}
	over := func(door, address string) web { return web{worker: at(door), wire: newWire(address), bearer: token} }
	lines := &dflockd{worker: at("dflockd"), address: doors.Dflockd}
	if isThroughProxy {
		b.dflockd = append(b.dflockd, lines)
	}
	for _, made := range []interface {
		client
		who() *worker
	}{
		&scoped{over("scoped", doors.HTTP)}, &scoped{over("scoped", doors.HTTP)},
		&lockserver{over("lockserver", doors.HTTP)}, &homelab{over("homelab", doors.HTTP)},
		&terraform{over("terraform", doors.HTTP)}, &files{web: over("files", doors.Files)}, lines,
		&redisClient{worker: at("redis"), address: doors.Redis},
	} {
		made := made
		group.Add(1)
		go func() {
			defer group.Done()
			made.who().work(made)
		}()
	}
}

func (b *bench) pause(least, most time.Duration) {
	for end := time.Now().Add(least + time.Duration(b.random.Int63n(int64(most-least)+1))); time.Now().Before(end); {
		if b.run.isOver.Load() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// links are what goes wrong between the clients and the doors.
func (b *bench) links() []torment {
	return []torment{
		{name: "answers are lost", do: b.swallow},
		{name: "links are slow", do: b.slow},
		{name: "connections break", do: b.cut},
	}
}

func (b *bench) swallow() error {
	for _, proxy := range b.proxies {
		proxy.Swallows.Store(int64(3 + b.random.Intn(10)))
	}
	b.pause(time.Second, 3*time.Second)
	for _, proxy := range b.proxies {
		proxy.Swallows.Store(0)
	}
	return nil
}

func (b *bench) slow() error {
	for _, proxy := range b.proxies {
		proxy.Slow.Store(int64(20 + b.random.Intn(400)))
	}
	b.pause(time.Second, 3*time.Second)
	for _, proxy := range b.proxies {
		proxy.Slow.Store(0)
	}
	return nil
}

func (b *bench) cut() error {
	for i := 0; i < 3; i++ {
		for _, client := range b.dflockd {
			client.doubt()
		}
		for _, proxy := range b.proxies {
			proxy.Cut()
		}
		b.pause(50*time.Millisecond, 500*time.Millisecond)
	}
	return nil
}
