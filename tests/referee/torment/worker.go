package torment

import (
	"fmt"
	"math/rand"
	"strings"
	"time"

	"holdfast/tests/referee/history"
)

const (
	ttl        = 2 * time.Second
	patience   = 1500 * time.Millisecond // for an answer that need not wait
	generation = 4 * time.Second         // as long, clients use the same names. Then they use new ones
	names      = 3                       // of each kind at a time
)

// result is how a request ended, for the history.
type result struct {
	outcome history.Outcome
	answer  history.Answer
}

var (
	unknown = result{outcome: history.Unknown}
	failed  = result{outcome: history.Failed}
)

func ok(answer history.Answer) result      { return result{history.OK, answer} }
func refused(answer history.Answer) result { return result{history.Refused, answer} }

// worker is one client. It holds one lease at a time, so workers never wait for each other in a circle.
type worker struct {
	*run
	door   string
	number int
	where  string // the door and the place at which it connects
	lives  int
	served int // the last of its lives in which it was granted a lease
	random *rand.Rand
	owner  string
}

func newWorker(r *run, door string, number int, seed int64) *worker {
	return &worker{run: r, door: door, number: number, random: rand.New(rand.NewSource(seed))}
}

// client is what a door must be able to do.
type client interface {
	// cycle acquires a lease, uses it and gives it back, or does not.
	cycle()
	close()
}

func (w *worker) work(c client) {
	defer c.close()
	for !w.isOver.Load() {
		w.lives++
		w.owner = fmt.Sprintf("r-%s-%d-%d", w.door, w.number, w.lives)
		c.cycle()
		w.pause(5, 60)
	}
}

func (w *worker) pause(least, most int) {
	time.Sleep(time.Duration(least+w.random.Intn(most-least+1)) * time.Millisecond)
}

func (w *worker) chance(percent int) bool { return w.random.Intn(100) < percent }

// name of a lock of this moment.
func (w *worker) name(kind string) string {
	now := int(time.Since(w.start) / generation)
	return fmt.Sprintf("%s%d-%d", kind, now, w.random.Intn(names))
}

// fence is the name of a resource, which is used for longer than that of a lock: across restarts.
func (w *worker) fence() string {
	return fmt.Sprintf("fence%d-%d", int(time.Since(w.start)/generation)/4, w.random.Intn(names))
}

// file is the number of a file of this moment.
func (w *worker) file() int { return int(time.Since(w.start)/generation)*10 + w.random.Intn(names) }

func (w *worker) ask(kind history.Kind, scopes ...string) history.Ask {
	return history.Ask{Client: fmt.Sprintf("%s-%d", w.door, w.number), Door: w.door, Kind: kind, Scopes: scopes, Owner: w.owner}
}

// record does a request and writes both of its lines.
func (w *worker) record(ask history.Ask, send func() result) result {
	asked := w.recorder.Now()
	operation := w.recorder.Invoke(ask)
	ended := send()
	w.recorder.End(operation, ended.outcome, ended.answer)
	if ask.Kind == history.Acquire && ended.outcome == history.OK && w.served != w.lives {
		w.served = w.lives
		w.noteGrant(w.where, asked)
	}
	switch ended.outcome {
	case history.Refused:
		w.pause(20, 150)
	case history.Failed, history.Unknown:
		w.pause(100, 400)
	}
	return ended
}

// hold uses a lease: it renews it, looks, forgets it, sleeps longer than it lasts. The steps return false when the lease is over or
// nothing is known of it.
func (w *worker) hold(renew, look func() bool, release func()) {
	for step := 0; step < 4 && !w.isOver.Load(); step++ {
		switch pick := w.random.Intn(100); {
		case pick < 4:
			w.pause(int(ttl.Milliseconds()), int(ttl.Milliseconds())+800)
		case pick < 30:
			w.pause(1, 40)
		case pick < 40:
			w.pause(100, 900)
		case pick < 60:
			if !renew() {
				return
			}
		case pick < 75:
			if look != nil && !look() {
				return
			}
		}
		if w.chance(30) {
			break
		}
	}
	if w.chance(95) {
		release()
	}
}

// holder is who an answer names. Clients of dflockd have no names of their own; the server numbers them.
func holder(name string) string {
	if strings.HasPrefix(name, "conn-") {
		return ""
	}
	return name
}

func (w *worker) who() *worker { return w }
