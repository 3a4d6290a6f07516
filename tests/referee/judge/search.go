package judge

// The search for an order: is there an order of all operations in which each of them takes effect at one moment between its call
// and its return, and in which the specification allows every answer?
//
// This is the algorithm of Wing and Gong with Lowe's two improvements. Operations are put into the order as late as possible
// ("just in time"): nothing happens until an operation returns; then every world that is still possible must have it in its order,
// after any of the operations that are under way. And worlds that are the same are looked at once: a world is the state of the
// specification and the operations under way that have taken effect in it. If no world is left, there is no such order.
//
// An operation whose end is unknown is under way for ever, so each would double the worlds. Three rules keep them few. Such an
// operation takes effect only if the answer of another one could rest on it (Specification.Helps). Those that nobody names are alike,
// and used one after the other. And of two worlds with the same state, the one in which more unknown operations were used is
// dropped if it has used all that the other has: the other can do whatever it can.
//
// Time enters the specification through `now`, the return of the operation at hand. What takes effect then does so before `now`.

import (
	"sort"
	"strconv"
	"strings"

	"holdfast/tests/referee/history"
)

// State is one state of a specification. It is never changed.
type State interface {
	Key() string // equal for equal states
}

// Specification says which answers are allowed.
type Specification interface {
	Start() State
	// Step returns the states after `op` took effect in `state` before `now`; none if its answer is wrong there.
	Step(state State, op *history.Operation, now int64) []State
	// Weaken is told of each operation with an unknown result when it is called. Its result allows whatever `state` allows.
	// Returns false if that is all that the operation can do: it need not take effect any more.
	Weaken(state State, op *history.Operation) (State, bool)
	// Looks is true of an operation that changes nothing if its answer is right.
	Looks(op *history.Operation) bool
	// Helps: can the answer of `op` rest on `unknown`?
	Helps(unknown, op *history.Operation) bool
	// Precedes is true if `first` takes effect before `second` in every order.
	Precedes(first, second *history.Operation) bool
	// Alike is the same text for unknown operations that can stand for one another from `now` on; empty if no other one can.
	Alike(unknown *history.Operation, now int64) string
}

// Verdict of a search.
type Verdict string

const (
	Fine      Verdict = "ok"
	Violation Verdict = "violation"
	Undecided Verdict = "undecided"
)

// Finding is the result of a search.
type Finding struct {
	Verdict Verdict
	Steps   int                // states that were made
	Culprit *history.Operation // of a violation: the operation that fits nowhere
	Before  []State            // of a violation: the states in which it does not fit
}

// world is one way in which everything that has returned so far can have happened.
type world struct {
	state State
	done  []int // operations under way that have taken effect, sorted; places in the list of operations
}

func (w world) has(op int) bool {
	place := sort.SearchInts(w.done, op)
	return place < len(w.done) && w.done[place] == op
}

func (w world) with(op int, state State) world {
	place := sort.SearchInts(w.done, op)
	done := make([]int, 0, len(w.done)+1)
	done = append(append(append(done, w.done[:place]...), op), w.done[place:]...)
	return world{state, done}
}

func (w world) without(op int) world {
	place := sort.SearchInts(w.done, op)
	done := make([]int, 0, len(w.done))
	return world{w.state, append(append(done, w.done[:place]...), w.done[place+1:]...)}
}

func (w world) key() string {
	var key strings.Builder
	key.WriteString(w.state.Key())
	for _, op := range w.done {
		key.WriteByte(' ')
		key.WriteString(strconv.Itoa(op))
	}
	return key.String()
}

// search is one search over the operations of some locks.
type search struct {
	specification Specification
	operations    []*history.Operation
	budget        int
	steps         int
	known         []int // under way, will return; places in operations
	unknown       []int // under way for ever
	worlds        []world
}

// Search looks for an order of the operations. After `budget` steps it gives up.
func Search(specification Specification, operations []*history.Operation, budget int) Finding {
	s := &search{specification: specification, operations: operations, budget: budget,
		worlds: []world{{state: specification.Start()}}}
	for _, event := range eventsOf(operations) {
		if !event.isReturn {
			s.call(event.op)
			continue
		}
		before := s.worlds
		s.finish(event.op)
		if s.steps > budget {
			return Finding{Verdict: Undecided, Steps: s.steps}
		}
		if len(s.worlds) == 0 {
			return Finding{Verdict: Violation, Steps: s.steps, Culprit: operations[event.op], Before: statesOf(before)}
		}
	}
	return Finding{Verdict: Fine, Steps: s.steps}
}

type event struct {
	at       int64
	isReturn bool
	op       int
}

// eventsOf puts calls before returns of the same moment: then the two may have overlapped.
func eventsOf(operations []*history.Operation) []event {
	var events []event
	for i, op := range operations {
		events = append(events, event{op.Call, false, i})
		if op.Return != history.Never {
			events = append(events, event{op.Return, true, i})
		}
	}
	sort.SliceStable(events, func(i, j int) bool {
		if events[i].at != events[j].at {
			return events[i].at < events[j].at
		}
		return !events[i].isReturn && events[j].isReturn
	})
	return events
}

func statesOf(worlds []world) []State {
	var states []State
	seen := map[string]bool{}
	for _, w := range worlds {
		if key := w.state.Key(); !seen[key] {
			seen[key] = true
			states = append(states, w.state)
		}
	}
	return states
}

func (s *search) call(op int) {
	operation := s.operations[op]
	if operation.Return != history.Never {
		s.known = append(s.known, op)
		return
	}
	takesEffect := false
	for i, w := range s.worlds {
		state, more := s.specification.Weaken(w.state, operation)
		s.worlds[i] = world{state, w.done}
		takesEffect = takesEffect || more
	}
	if takesEffect {
		s.unknown = append(s.unknown, op)
	}
}

// finish keeps the worlds that can have `op` in their order by now.
func (s *search) finish(op int) {
	seen := map[string]bool{}
	var next []world
	for _, w := range s.worlds {
		s.explore(w, op, seen, &next)
		if s.steps > s.budget {
			return
		}
	}
	for i, other := range s.known {
		if other == op {
			s.known = append(s.known[:i:i], s.known[i+1:]...)
			break
		}
	}
	s.worlds = s.smallest(next, s.operations[op].Return)
}

// explore adds to `next` all worlds that `w` leads to and that have `op` in their order as their last.
func (s *search) explore(w world, op int, seen map[string]bool, next *[]world) {
	now := s.operations[op].Return
	w = s.look(w, now)
	key := w.key()
	if seen[key] || s.steps > s.budget {
		return
	}
	seen[key] = true
	if w.has(op) {
		*next = append(*next, w.without(op))
		return
	}
	for _, other := range s.known {
		if !w.has(other) && !s.isTooEarly(w, other) {
			s.branch(w, other, op, seen, next)
		}
	}
	tried := map[string]bool{}
	for _, other := range s.unknown {
		class := s.specification.Alike(s.operations[other], now)
		if !w.has(other) && !tried[class] && s.isOfUse(w, other) {
			tried[class] = class != ""
			s.branch(w, other, op, seen, next)
		}
	}
}

func (s *search) branch(w world, other, op int, seen map[string]bool, next *[]world) {
	s.steps++
	for _, state := range s.specification.Step(w.state, s.operations[other], s.operations[op].Return) {
		s.explore(w.with(other, state), op, seen, next)
	}
}

// look takes at once what only looks and whose answer is right already: nothing is lost by it.
func (s *search) look(w world, now int64) world {
	for _, other := range s.known {
		if w.has(other) || !s.specification.Looks(s.operations[other]) {
			continue
		}
		s.steps++
		for _, state := range s.specification.Step(w.state, s.operations[other], now) {
			if state.Key() == w.state.Key() {
				w = w.with(other, w.state)
				break
			}
		}
	}
	return w
}

func (s *search) isTooEarly(w world, op int) bool {
	for _, other := range s.known {
		if other != op && !w.has(other) && s.specification.Precedes(s.operations[other], s.operations[op]) {
			return true
		}
	}
	return false
}

func (s *search) isOfUse(w world, unknown int) bool {
	for _, other := range s.known {
		if !w.has(other) && s.specification.Helps(s.operations[unknown], s.operations[other]) {
			return true
		}
	}
	return false
}

// used are the unknown operations of a world: those that something may still name, and how many of those that are alike.
type used struct {
	named []int
	alike map[string]int
}

// smallest drops worlds that can do nothing that another one cannot.
func (s *search) smallest(worlds []world, now int64) []world {
	kept := map[string][]used{} // by state and known operations
	var smallest []world
	sort.SliceStable(worlds, func(i, j int) bool { return len(worlds[i].done) < len(worlds[j].done) })
	for _, w := range worlds {
		key, of := s.split(w, now)
		isBeaten := false
		for _, other := range kept[key] {
			isBeaten = isBeaten || other.isWithin(of)
		}
		if !isBeaten {
			kept[key] = append(kept[key], of)
			smallest = append(smallest, w)
		}
	}
	return smallest
}

func (s *search) split(w world, now int64) (string, used) {
	of := used{alike: map[string]int{}}
	var known []int
	for _, op := range w.done {
		if s.operations[op].Return != history.Never {
			known = append(known, op)
		} else if class := s.specification.Alike(s.operations[op], now); class != "" {
			of.alike[class]++
		} else {
			of.named = append(of.named, op)
		}
	}
	return world{w.state, known}.key(), of
}

func (u used) isWithin(other used) bool {
	for class, count := range u.alike {
		if other.alike[class] < count {
			return false
		}
	}
	return isSubset(u.named, other.named)
}

func isSubset(small, large []int) bool {
	place := 0
	for _, op := range small {
		for place < len(large) && large[place] < op {
			place++
		}
		if place == len(large) || large[place] != op {
			return false
		}
	}
	return true
}
