package judge

// The specification of locks, of every kind and of all doors together.
//
// A lease covers cells (scopes.go). Two leases of one cell exclude each other, unless both are shared, or the cell is a semaphore and
// has a permit left. So an exclusive lock, a shared one, a semaphore, a range and a set are one specification.
//
// A lease may end at any moment after its TTL and never before. It is not ended here until an answer needs its end: a lease that
// could be there does no harm to any other answer. `until` is its TTL, and the grace of its door, counted from the call of the
// request that was acknowledged last; that is what its holder may rely on. A lease whose grant was never told has no holder that
// relies on it, and may end at once.

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"holdfast/tests/referee/history"
)

const endless = int64(math.MaxInt64)

// lease is one lease. It is never changed; a changed one is a copy.
type lease struct {
	id       int // the operation that made it, or one like it (idOf)
	door     string
	owner    string
	token    string
	request  string
	cells    []int
	shared   bool
	limit    int
	call     int64
	lasts    int64 // its TTL and grace; endless
	until    int64
	number   uint64 // 0: not known
	least    uint64 // the number is larger than this one
	value    string
	revision int  // 0: not known
	doubted  bool // its release was asked for and not answered: nobody relies on it any more
}

// lockState is a State of Locks.
type lockState struct {
	leases   []*lease // by id
	last     uint64   // the largest fencing number that was given out
	contents map[int]string
	key      string
}

func (s *lockState) Key() string { return s.key }

func newLockState(leases []*lease, last uint64, contents map[int]string) *lockState {
	var key strings.Builder
	fmt.Fprintf(&key, "%d", last)
	for _, l := range leases {
		fmt.Fprintf(&key, "|%d %d %d %d %t %s", l.id, l.until, l.number, l.revision, l.doubted, l.value)
	}
	if len(contents) > 0 {
		fmt.Fprintf(&key, "|%v", contents)
	}
	return &lockState{leases, last, contents, key.String()}
}

// String is for people.
func (s *lockState) String() string {
	if len(s.leases) == 0 {
		return "nobody holds anything"
	}
	var texts []string
	for _, l := range s.leases {
		text := l.owner + " holds it"
		if l.number > 0 {
			text += fmt.Sprintf(" with the number %d", l.number)
		}
		if l.until == endless {
			text += " without an end"
		} else {
			text += fmt.Sprintf(" until %s at least", moment(l.until))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func (s *lockState) without(gone *lease) *lockState {
	var leases []*lease
	for _, l := range s.leases {
		if l != gone {
			leases = append(leases, l)
		}
	}
	return newLockState(leases, s.last, s.contents)
}

func (s *lockState) with(new *lease) *lockState {
	leases := append(append([]*lease(nil), s.leases...), new)
	sort.Slice(leases, func(i, j int) bool { return leases[i].id < leases[j].id })
	return newLockState(leases, largest(s.last, new.number), s.contents)
}

func (s *lockState) replacing(old, new *lease) *lockState {
	leases := append([]*lease(nil), s.leases...)
	for i, l := range leases {
		if l == old {
			leases[i] = new
		}
	}
	return newLockState(leases, largest(s.last, new.number), s.contents)
}

func largest(a, b uint64) uint64 {
	if a > b {
		return a
	}
	return b
}

// Locks is the specification.
type Locks struct {
	cells   *cellMap
	waiters map[int][]string // of an operation: the owners of requests that waited, or wrote, at the same time
	least   map[int]uint64   // of a grant that was not told: the largest number that was told before it was asked for
	named   map[string]int64 // when an owner, token or request id was named for the last time in an answer, or asked for again
	classes map[int]string   // of grants that were not told
	read    map[string]bool  // contents that somebody has read
	firsts  map[string]int   // of a class whose members nobody ever names: its first operation
}

// NewLocks is the specification for these operations.
func NewLocks(operations []*history.Operation) (*Locks, error) {
	var scopes []string
	for _, op := range operations {
		scopes = append(scopes, op.Scopes...)
	}
	cells, err := newCellMap(scopes)
	if err != nil {
		return nil, err
	}
	locks := &Locks{cells: cells, waiters: map[int][]string{}, least: map[int]uint64{},
		named: map[string]int64{}, read: map[string]bool{}, classes: map[int]string{}, firsts: map[string]int{}}
	locks.findWaiters(operations)
	locks.findLeast(operations)
	locks.findNamed(operations)
	return locks, nil
}

// findLeast: a grant that was not told takes effect when an answer needs it, which may be later than it really did. So its number
// is compared with those before its call, not with those before its place in the order.
func (l *Locks) findLeast(operations []*history.Operation) {
	told := append([]*history.Operation(nil), operations...)
	sort.Slice(told, func(i, j int) bool { return told[i].Return < told[j].Return })
	next, last := 0, uint64(0)
	for _, op := range operations {
		for ; next < len(told) && told[next].Return < op.Call; next++ {
			if told[next].Kind == history.Acquire {
				last = largest(last, told[next].Number)
			}
		}
		if op.Kind == history.Acquire && op.Outcome == history.Unknown {
			l.least[op.ID] = last
		}
	}
}

func (l *Locks) findNamed(operations []*history.Operation) {
	seen := map[string]bool{}
	for _, op := range operations {
		if op.Kind == history.Read {
			l.read[op.Content] = true
		}
		if op.Holder != "" {
			l.named["owner "+op.Holder] = later(l.named["owner "+op.Holder], op.Return)
		}
		for _, name := range []string{"token " + op.Token, "request " + op.Request} {
			if seen[name] {
				l.named[name] = later(l.named[name], op.Return)
			}
			seen[name] = true
		}
	}
	for _, op := range operations {
		if op.Kind != history.Acquire || op.Outcome != history.Unknown {
			continue
		}
		class := fmt.Sprint(l.cells.cells(op.Scopes), op.Shared, op.Limit)
		l.classes[op.ID] = class
		if _, known := l.firsts[class]; !known && l.lastNamed(op) < 0 {
			l.firsts[class] = op.ID
		}
	}
}

// lastNamed is -1 if nobody ever names the lease of a grant that was not told.
func (l *Locks) lastNamed(op *history.Operation) int64 {
	last := int64(-1)
	names := []string{"owner " + op.Owner}
	if op.Token != "" {
		names = append(names, "token "+op.Token)
	}
	if op.Request != "" {
		names = append(names, "request "+op.Request)
	}
	for _, name := range names {
		if at, named := l.named[name]; named {
			last = later(last, at)
		}
	}
	return last
}

// Alike are grants of the same lock that were not told, after the last answer that names them.
func (l *Locks) Alike(unknown *history.Operation, now int64) string {
	class, isGrant := l.classes[unknown.ID]
	if !isGrant || l.lastNamed(unknown) >= now {
		return ""
	}
	return class
}

// idOf is the same for leases that nobody can tell from each other.
func (l *Locks) idOf(op *history.Operation) int {
	if class, isGrant := l.classes[op.ID]; isGrant && l.lastNamed(op) < 0 {
		return l.firsts[class]
	}
	return op.ID
}

// findWaiters: a request is refused for an earlier waiter as it is for a holder, and a write has the lock while it is done. When a
// request began to wait is not known, so each one that overlaps may be the reason.
func (l *Locks) findWaiters(operations []*history.Operation) {
	var waiting []*history.Operation // that may still be under way, in the order of their calls
	for _, op := range operations {
		var still []*history.Operation
		for _, other := range waiting {
			if other.Return >= op.Call {
				still = append(still, other)
			}
		}
		waiting = still
		for _, other := range waiting {
			l.noteWaiter(op, other)
			l.noteWaiter(other, op)
		}
		waiting = append(waiting, op)
	}
}

func (l *Locks) noteWaiter(refused, waiter *history.Operation) {
	isWaiter := waiter.Kind == history.Acquire && waiter.WaitMs > 0 || waiter.Kind == history.Write
	isRefused := refused.Outcome == history.Refused && (refused.Kind == history.Acquire || refused.Kind == history.Write)
	if isWaiter && (isRefused || mayNameWaiter(refused)) && l.shareACell(refused, waiter) {
		l.waiters[refused.ID] = append(l.waiters[refused.ID], waiter.Owner)
	}
}

// mayNameWaiter: GET at the Redis door tells of a client that waits, where nobody holds the key, but it was asked for earlier.
func mayNameWaiter(op *history.Operation) bool {
	return op.Kind == history.Look && op.Door == "redis" && op.Holder != ""
}

func (l *Locks) shareACell(a, b *history.Operation) bool {
	return shareOne(l.cells.cells(a.Scopes), l.cells.cells(b.Scopes))
}

func shareOne(a, b []int) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			return true
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// Start is the state in which nobody holds anything.
func (l *Locks) Start() State { return newLockState(nil, 0, nil) }

// Looks is true of requests that change nothing. One that failed is kept because others may have been refused while it waited.
func (l *Locks) Looks(op *history.Operation) bool {
	return op.Outcome == history.Failed || op.Outcome == history.Refused && op.Kind != history.Force || op.Kind == history.Look || op.Kind == history.Read
}

// Weaken: after a release without an answer, or a renewal without one, nobody relies on more than before.
func (l *Locks) Weaken(state State, op *history.Operation) (State, bool) {
	s := state.(*lockState)
	switch op.Kind {
	case history.Renew, history.Look, history.Read:
		return s, false
	case history.Release:
		return l.doubt(s, op)
	case history.Write:
		if op.Frees {
			s, _ = l.doubt(s, op)
		}
	}
	return s, true
}

// doubt returns false if it found the lease: from now on, that may end at any moment.
func (l *Locks) doubt(s *lockState, op *history.Operation) (*lockState, bool) {
	held := find(s, op)
	if held == nil {
		return s, true
	}
	doubted := *held
	doubted.until, doubted.doubted = 0, true
	return s.replacing(held, &doubted), false
}

// prolonged is the lease with a later end.
func (held *lease) prolonged(until int64) *lease {
	longer := *held
	if !held.doubted {
		longer.until = later(held.until, until)
	}
	return &longer
}

// find returns the lease that a request is about.
func find(s *lockState, op *history.Operation) *lease {
	for _, l := range s.leases {
		if l.door == op.Door && l.token == op.Token && op.Token != "" {
			return l
		}
	}
	return nil
}

// Helps: a grant that was never told explains a refusal, or what somebody else saw of it; a write, what was read; a value, what was
// told of the value. A write that was read later may have been done before anything else that changed the lock.
func (l *Locks) Helps(unknown, op *history.Operation) bool {
	if op.Outcome == history.Failed || !l.shareACell(unknown, op) {
		return false
	}
	if unknown.Kind == history.Force || unknown.Kind == history.Release {
		return true
	}
	if unknown.Kind == history.Write && l.read[unknown.Value] && !l.Looks(op) {
		return true
	}
	sameToken := unknown.Token != "" && unknown.Token == op.Token
	sameRequest := unknown.Request != "" && unknown.Request == op.Request
	switch op.Kind {
	case history.Read:
		return unknown.Kind == history.Write && unknown.Value == op.Content
	case history.Look:
		return !op.Free && (op.Holder == "" || op.Holder == unknown.Owner)
	case history.Acquire, history.Write:
		named := op.Limit > 1 || op.Holder == "" || op.Holder == unknown.Owner
		return sameRequest || sameToken || op.Outcome == history.Refused && named
	}
	return sameToken
}

// Precedes: grants have growing numbers.
func (l *Locks) Precedes(first, second *history.Operation) bool {
	return first.Kind == history.Acquire && second.Kind == history.Acquire && first.Request == "" &&
		first.Number > 0 && first.Number < second.Number && !first.Reentrant
}
