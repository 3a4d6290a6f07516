package judge

// A lock server in virtual time, as small as can be, with mistakes that can be planted in it. Its clients record histories: those of
// the right server must be found right, and each mistake must be found.

import (
	"container/heap"
	"fmt"
	"math/rand"

	"holdfast/tests/referee/history"
)

type mistake int

const (
	none mistake = iota
	grantsWhatIsHeld
	endsTooEarly
	numberGoesBack
	forgetsAGrant
	forgetsARelease
	renewalDoesNotProlong
	sharedBesideExclusive
	onePermitTooMany
	refusesWhatIsFree
	servesTheLastWaiter
	repeatsARequest
	looksAtAnOldState
	mistakes
)

type toyLease struct {
	token, owner, request string
	shared                bool
	number                uint64
	end                   int64
}

type toyWaiter struct {
	op     *history.Operation
	answer func(history.Outcome, history.Answer)
	gone   bool
}

type toyLock struct {
	leases  []toyLease
	queue   []*toyWaiter
	granted map[string]toyLease // by request
	seen    string              // the holder at some time before
}

type toyEvent struct {
	at   int64
	what func()
}

type toyQueue []toyEvent

func (q toyQueue) Len() int           { return len(q) }
func (q toyQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q toyQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *toyQueue) Push(x any)        { *q = append(*q, x.(toyEvent)) }
func (q *toyQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type toy struct {
	random     *rand.Rand
	planted    mistake
	lost       float64 // how many answers never arrive
	events     toyQueue
	now        int64
	locks      map[string]*toyLock
	number     uint64
	operations []*history.Operation
	left       int
	names      int
}

const toyTTL = int64(50)

// toyHistory has about so many operations of so many clients on so many locks.
func toyHistory(seed int64, planted mistake, clients, locks, operations int, lost float64) *history.History {
	t := &toy{random: rand.New(rand.NewSource(seed)), planted: planted, lost: lost, locks: map[string]*toyLock{}, left: operations}
	for i := 0; i < locks; i++ {
		t.locks[fmt.Sprintf("lock-%d", i)] = &toyLock{granted: map[string]toyLease{}}
		t.locks[fmt.Sprintf("semaphore:s-%d", i)] = &toyLock{granted: map[string]toyLease{}}
	}
	for i := 0; i < clients; i++ {
		t.after(int64(i), t.cycle)
	}
	for len(t.events) > 0 {
		next := heap.Pop(&t.events).(toyEvent)
		t.now = next.at
		next.what()
	}
	h := &history.History{}
	for _, op := range t.operations {
		h.Operations = append(h.Operations, *op)
	}
	return h
}

func (t *toy) after(delay int64, what func()) { heap.Push(&t.events, toyEvent{t.now + delay, what}) }

func (t *toy) some(most int64) int64 { return 1 + t.random.Int63n(most) }

// ask sends a request: it takes effect a while later, and is answered a while after that, or never.
func (t *toy) ask(op history.Operation, effect func(*history.Operation, func(history.Outcome, history.Answer)),
	then func(*history.Operation)) {
	t.left--
	recorded := op
	recorded.ID, recorded.Call, recorded.Return, recorded.Outcome = len(t.operations)+1, t.now*1e6, history.Never, history.Unknown
	recorded.Door = "toy"
	t.operations = append(t.operations, &recorded)
	isLost, waits := t.random.Float64() < t.lost, op.WaitMs+30
	isOver := false
	t.after(t.some(5), func() {
		effect(&recorded, func(outcome history.Outcome, answer history.Answer) {
			t.after(t.some(5), func() {
				if isLost || isOver {
					return
				}
				isOver = true
				recorded.Outcome, recorded.Answer, recorded.Return = outcome, answer, t.now*1e6
				then(&recorded)
			})
		})
	})
	t.after(waits, func() {
		if !isOver {
			isOver = true
			then(&recorded)
		}
	})
}

// cycle: a client acquires, perhaps renews, and releases.
func (t *toy) cycle() {
	if t.left <= 0 {
		return
	}
	t.names++
	op := history.Operation{}
	op.Owner = fmt.Sprintf("owner-%d", t.names)
	op.Client, op.Kind, op.TTLms = op.Owner, history.Acquire, toyTTL
	for name := range t.locks {
		op.Scopes = append(op.Scopes, name)
	}
	sortStrings(op.Scopes)
	op.Scopes = []string{op.Scopes[t.random.Intn(len(op.Scopes))]}
	if op.Scopes[0][0] == 's' {
		op.Limit = 2
	} else {
		op.Shared = t.random.Intn(4) == 0
	}
	if t.random.Intn(3) == 0 {
		op.WaitMs = 80
	}
	if t.random.Intn(3) == 0 {
		op.Request = op.Owner
	}
	t.acquire(op, 2)
}

func (t *toy) acquire(op history.Operation, tries int) {
	t.ask(op, t.atAcquire, func(answered *history.Operation) {
		switch {
		case answered.Outcome == history.OK:
			t.after(t.some(30), func() { t.hold(answered) })
		case answered.Outcome == history.Unknown && op.Request != "" && tries > 0:
			t.acquire(op, tries-1)
		default:
			t.after(t.some(20), t.cycle)
		}
	})
}

func (t *toy) hold(granted *history.Operation) {
	next := history.Operation{}
	next.Owner, next.Client, next.Scopes, next.Limit = granted.Owner, granted.Client, granted.Scopes, granted.Limit
	next.Token, next.TTLms = granted.Granted, toyTTL
	switch t.random.Intn(6) {
	case 0:
		t.after(t.some(100), t.cycle) // forgets it
	case 1:
		next.Kind = history.Look
		t.ask(next, t.atLook, func(*history.Operation) { t.after(t.some(20), func() { t.hold(granted) }) })
	case 2, 3:
		next.Kind = history.Renew
		t.ask(next, t.atRenew, func(answered *history.Operation) {
			if answered.Outcome == history.Refused {
				t.after(t.some(20), t.cycle)
			} else {
				t.after(t.some(45), func() { t.hold(granted) })
			}
		})
	default:
		next.Kind = history.Release
		t.ask(next, t.atRelease, func(*history.Operation) { t.after(t.some(20), t.cycle) })
	}
}

// strikes: is it time for the planted mistake?
func (t *toy) strikes(planted mistake) bool { return t.planted == planted && t.random.Intn(5) == 0 }

func (t *toy) lockOf(op *history.Operation) *toyLock {
	lock := t.locks[op.Scopes[0]]
	t.expire(lock)
	return lock
}

func (t *toy) expire(lock *toyLock) {
	var kept []toyLease
	for _, lease := range lock.leases {
		if lease.end > t.now {
			kept = append(kept, lease)
		}
	}
	lock.leases = kept
	t.serve(lock)
}

func (t *toy) isInTheWay(lock *toyLock, op *history.Operation) bool {
	limit := op.Limit
	if t.strikes(onePermitTooMany) {
		limit++
	}
	if op.Limit > 1 {
		return len(lock.leases) >= limit
	}
	if op.Shared && t.strikes(sharedBesideExclusive) {
		return false
	}
	for _, lease := range lock.leases {
		if !lease.shared || !op.Shared {
			return !t.strikes(grantsWhatIsHeld)
		}
	}
	return op.Limit <= 1 && len(lock.leases) == 0 && t.strikes(refusesWhatIsFree)
}

func (t *toy) atAcquire(op *history.Operation, answer func(history.Outcome, history.Answer)) {
	lock := t.lockOf(op)
	if told, again := lock.granted[op.Request]; again && op.Request != "" && !t.strikes(repeatsARequest) {
		for _, lease := range lock.leases {
			if lease.token == told.token {
				answer(history.OK, history.Answer{Granted: told.token, Number: told.number})
				return
			}
		}
		answer(history.Failed, history.Answer{Text: "ended"})
		return
	}
	isBlocked := len(lock.queue) > 0 || t.isInTheWay(lock, op)
	if !isBlocked {
		t.grant(lock, op, answer)
		return
	}
	if op.WaitMs == 0 {
		holder := ""
		if len(lock.leases) > 0 && len(lock.queue) == 0 {
			holder = lock.leases[0].owner
		}
		answer(history.Refused, history.Answer{Holder: holder})
		return
	}
	waiter := &toyWaiter{op: op, answer: answer}
	lock.queue = append(lock.queue, waiter)
	t.after(op.WaitMs, func() {
		t.expire(lock)
		for i, other := range lock.queue {
			if other == waiter {
				lock.queue = append(lock.queue[:i:i], lock.queue[i+1:]...)
				answer(history.Refused, history.Answer{})
				t.serve(lock)
				return
			}
		}
	})
}

func (t *toy) grant(lock *toyLock, op *history.Operation, answer func(history.Outcome, history.Answer)) {
	t.number++
	number := t.number
	if t.strikes(numberGoesBack) && number > 3 {
		number -= 3
	}
	lease := toyLease{token: fmt.Sprintf("token-%d", t.number), owner: op.Owner, shared: op.Shared, number: number, end: t.now + toyTTL}
	if t.strikes(endsTooEarly) {
		lease.end = t.now + toyTTL/2
	}
	if !t.strikes(forgetsAGrant) {
		lock.leases = append(lock.leases, lease)
	}
	lock.granted[op.Request] = lease
	lock.seen = op.Owner
	t.after(toyTTL, func() { t.expire(lock) })
	answer(history.OK, history.Answer{Granted: lease.token, Number: lease.number})
}

func (t *toy) serve(lock *toyLock) {
	for len(lock.queue) > 0 {
		place := 0
		if t.strikes(servesTheLastWaiter) {
			place = len(lock.queue) - 1
		}
		waiter := lock.queue[place]
		if t.isInTheWay(lock, waiter.op) {
			return
		}
		lock.queue = append(lock.queue[:place:place], lock.queue[place+1:]...)
		t.grant(lock, waiter.op, waiter.answer)
	}
}

func (t *toy) leaseOf(lock *toyLock, op *history.Operation) int {
	for i, lease := range lock.leases {
		if lease.token == op.Token {
			return i
		}
	}
	return -1
}

func (t *toy) atRenew(op *history.Operation, answer func(history.Outcome, history.Answer)) {
	lock := t.lockOf(op)
	place := t.leaseOf(lock, op)
	if place < 0 {
		answer(history.Refused, history.Answer{})
		return
	}
	if !t.strikes(renewalDoesNotProlong) {
		lock.leases[place].end = t.now + toyTTL
	}
	t.after(toyTTL, func() { t.expire(lock) })
	answer(history.OK, history.Answer{})
}

func (t *toy) atRelease(op *history.Operation, answer func(history.Outcome, history.Answer)) {
	lock := t.lockOf(op)
	place := t.leaseOf(lock, op)
	if place < 0 {
		answer(history.Refused, history.Answer{})
		return
	}
	if !t.strikes(forgetsARelease) {
		lock.leases = append(lock.leases[:place:place], lock.leases[place+1:]...)
		t.serve(lock)
	}
	answer(history.OK, history.Answer{})
}

func (t *toy) atLook(op *history.Operation, answer func(history.Outcome, history.Answer)) {
	lock := t.lockOf(op)
	told := history.Answer{Free: true}
	if len(lock.leases) > 0 {
		told = history.Answer{Holder: lock.leases[0].owner, Number: lock.leases[0].number}
	}
	if t.strikes(looksAtAnOldState) && lock.seen != "" {
		told = history.Answer{Holder: lock.seen}
	}
	for _, waiter := range lock.queue {
		told.Queue = append(told.Queue, waiter.op.Owner)
	}
	answer(history.OK, told)
}
