package judge

// Rules that can be seen without a search, by looking at the operations once. They are a second judge: the first two also follow from
// the specification of locks.

import (
	"fmt"
	"math"
	"sort"

	"holdfast/tests/referee/history"
)

// Fault is something that must not be, with the operations that show it.
type Fault struct {
	Rule       string
	Text       string
	Operations []*history.Operation
}

// belief is the time in which a client was sure that it held its lock: from the answer until it asked for the release, or until the
// TTL was over, counted from the call of the last request that was acknowledged.
type belief struct {
	op          *history.Operation
	cells       []int
	start, ends int64
}

// twoHolders finds clients that were sure of what excludes each other at the same time.
func twoHolders(operations []*history.Operation, locks *Locks) []Fault {
	beliefs := beliefsOf(operations, locks)
	sort.Slice(beliefs, func(i, j int) bool { return beliefs[i].start < beliefs[j].start })
	var faults []Fault
	var open []*belief
	for _, b := range beliefs {
		var still []*belief
		for _, other := range open {
			if other.ends > b.start {
				still = append(still, other)
			}
		}
		open = still
		if b.ends <= b.start {
			continue // the answer took so long that its client was never sure
		}
		if fault := conflict(b, open); fault != nil {
			faults = append(faults, *fault)
		}
		open = append(open, b)
	}
	return faults
}

func conflict(b *belief, open []*belief) *Fault {
	permits := 0
	for _, other := range open {
		if !shareOne(b.cells, other.cells) || b.op.Shared && other.op.Shared {
			continue
		}
		permits++
		if permits >= limitOf(b.op) {
			return &Fault{"two holders", fmt.Sprintf("at %s, %s and %s are both sure of %s", moment(b.start), other.op.Owner,
				b.op.Owner, b.op.Scopes[0]), []*history.Operation{other.op, b.op}}
		}
	}
	return nil
}

func limitOf(op *history.Operation) int {
	if op.Limit > 1 {
		return op.Limit
	}
	return 1
}

type leaseName struct{ door, token string }

func nameOf(op *history.Operation) leaseName {
	if op.Kind == history.Acquire && op.Granted != "" {
		return leaseName{op.Door, op.Granted}
	}
	return leaseName{op.Door, op.Token}
}

func beliefsOf(operations []*history.Operation, locks *Locks) []*belief {
	var beliefs []*belief
	open := map[leaseName]*belief{}
	firsts := map[string]int64{} // of a request id: the first call
	for _, op := range operations {
		if first, known := firsts[op.Door+op.Request]; op.Request != "" && !known {
			firsts[op.Door+op.Request] = op.Call
		} else if op.Request != "" {
			copied := *op
			copied.Call = first
			op = &copied
		}
		current := open[nameOf(op)]
		switch {
		case op.Kind == history.Acquire && op.Outcome == history.OK && (current == nil || op.Call >= current.ends):
			b := &belief{op: op, cells: locks.cells.cells(op.Scopes), start: op.Return, ends: sureUntil(op)}
			beliefs = append(beliefs, b)
			open[nameOf(op)] = b
		case current == nil:
		case op.Kind == history.Release || op.Kind == history.Write && op.Frees:
			if op.Outcome != history.Refused && op.Outcome != history.Failed {
				current.ends = earlier(current.ends, op.Call)
				delete(open, nameOf(op))
			}
		case (op.Kind == history.Renew || op.Kind == history.Acquire) && op.Outcome == history.OK:
			current.ends = later(current.ends, sureUntil(op))
		}
	}
	return withoutForced(beliefs, operations, locks)
}

// sureUntil has no grace: that is the time in which others wait, but the holder is not sure.
func sureUntil(op *history.Operation) int64 {
	if ttl, ends := op.TTL(); ends {
		return op.Call + int64(ttl)
	}
	return endless
}

// withoutForced ends beliefs with the first forced end that may have been theirs: their clients are not told.
func withoutForced(beliefs []*belief, operations []*history.Operation, locks *Locks) []*belief {
	for _, op := range operations {
		if op.Kind != history.Force || op.Outcome == history.Refused || op.Outcome == history.Failed {
			continue
		}
		cells := locks.cells.cells(op.Scopes)
		for _, b := range beliefs {
			if b.ends > op.Call && b.op.Call < op.Return && shareOne(b.cells, cells) {
				b.ends = later(b.start, op.Call)
			}
		}
	}
	return beliefs
}

func earlier(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}

// numbersGrow finds a grant whose number is not larger than all that were told before it was asked for, over all locks.
func numbersGrow(operations []*history.Operation) []Fault {
	var grants []*history.Operation
	for _, op := range operations {
		if op.Kind == history.Acquire && op.Outcome == history.OK && op.Number > 0 && op.Request == "" {
			grants = append(grants, op)
		}
	}
	told := append([]*history.Operation(nil), grants...)
	sort.Slice(told, func(i, j int) bool { return told[i].Return < told[j].Return })
	var faults []Fault
	var last *history.Operation
	next := 0
	byNumber := map[uint64]*history.Operation{}
	for _, op := range grants {
		for ; next < len(told) && told[next].Return < op.Call; next++ {
			if last == nil || told[next].Number > last.Number {
				last = told[next]
			}
		}
		if last != nil && op.Number <= last.Number {
			faults = append(faults, Fault{"numbers grow", fmt.Sprintf("%s was granted %s with %d, after %d was told to %s", op.Owner,
				op.Scopes[0], op.Number, last.Number, last.Owner), []*history.Operation{last, op}})
		}
		if other := byNumber[op.Number]; other != nil {
			faults = append(faults, Fault{"numbers grow", fmt.Sprintf("%s and %s were both granted the number %d", other.Owner,
				op.Owner, op.Number), []*history.Operation{other, op}})
		}
		byNumber[op.Number] = op
	}
	return faults
}

// oneEffect finds a request id with two leases. Across a restart the server remembers ids only while the lease lives.
func oneEffect(operations []*history.Operation, restarts []int64) []Fault {
	firsts := map[string]*history.Operation{}
	calls := map[string]int64{}
	var faults []Fault
	for _, op := range operations {
		if op.Kind != history.Acquire || op.Request == "" {
			continue
		}
		id := op.Door + "\n" + op.Owner + "\n" + op.Scopes[0] + "\n" + op.Request
		if _, known := calls[id]; !known {
			calls[id] = op.Call
		}
		if op.Outcome != history.OK || op.Number == 0 {
			continue
		}
		first := firsts[id]
		if first == nil {
			firsts[id] = op
		} else if first.Number != op.Number && !isWithin(restarts, calls[id], op.Return) {
			faults = append(faults, Fault{"one effect", fmt.Sprintf("the request %s of %s was granted %s with %d and with %d",
				op.Request, op.Owner, op.Scopes[0], first.Number, op.Number), []*history.Operation{first, op}})
		}
	}
	return faults
}

func isWithin(moments []int64, from, to int64) bool {
	place := sort.Search(len(moments), func(i int) bool { return moments[i] >= from })
	return place < len(moments) && moments[place] <= to
}

// inOrder finds a waiter that was served before another one that was seen to stand before it, and did not give up. A restart
// empties the queues.
func inOrder(operations []*history.Operation, restarts []int64) []Fault {
	waits := map[string]*history.Operation{} // by lock and owner; nil if the owner has waited more than once
	for _, op := range operations {
		if name := op.Scopes[0] + "\n" + op.Owner; op.Kind == history.Acquire {
			if _, again := waits[name]; again || op.WaitMs == 0 {
				waits[name] = nil
			} else {
				waits[name] = op
			}
		}
	}
	var faults []Fault
	for _, op := range operations {
		for i := range op.Queue {
			for _, owner := range op.Queue[i+1:] {
				first, second := waits[op.Scopes[0]+"\n"+op.Queue[i]], waits[op.Scopes[0]+"\n"+owner]
				if first == nil || second == nil || !isOvertaken(first, second) || isWithin(restarts, op.Call, endOf(first, second)) {
					continue
				}
				faults = append(faults, Fault{"in order", fmt.Sprintf("%s stood before %s in the queue of %s, and was served after it",
					first.Owner, owner, op.Scopes[0]), []*history.Operation{op, first, second}})
			}
		}
	}
	return faults
}

func endOf(first, second *history.Operation) int64 {
	if first.Return == history.Never || second.Return == history.Never {
		return math.MaxInt64
	}
	return later(first.Return, second.Return)
}

// isOvertaken: both were granted in the wrong order, or the second one was granted while the first one surely still waited.
func isOvertaken(first, second *history.Operation) bool {
	if first.Shared && second.Shared || second.Outcome != history.OK {
		return false
	}
	if first.Outcome == history.OK {
		return first.Number > 0 && second.Number > 0 && first.Number > second.Number
	}
	return first.Outcome == history.Refused && second.Return < first.Call+first.WaitMs*1e6 && second.Return < first.Return
}
