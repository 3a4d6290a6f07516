package judge

// A violation in thousands of operations is shortened to the few that show it. Only such operations are left out whose absence cannot
// make a right history wrong:
//
//   - what began after the violation;
//   - what only looked, or was refused, or renewed a lease: others rest on nothing of it;
//   - a lease with all its requests, if no refusal that is left can rest on it. Whatever excluded something is then gone, but
//     nothing that was needed;
//   - a number that was shown to a fence, or a content that was written, if no answer that is left names it.
//
// Ends that were forced stay. So what is left is wrong by itself, and everything in it is true.

import (
	"strconv"

	"holdfast/tests/referee/history"
)

// Shorten returns the operations of a violation without those that do not matter.
func Shorten(part Part, budget int) Part {
	shortest := part
	try := func(kept []*history.Operation) bool {
		finding := searchPart(kept, budget)
		if finding.Verdict != Violation {
			return false
		}
		shortest = Part{part.Scope, kept, finding}
		return true
	}
	try(before(part.Operations, part.Culprit.Return))
	for size := -1; size != len(shortest.Operations); {
		size = len(shortest.Operations)
		leaveOut(&shortest, unitsThatLook(shortest), try)
		leaveOut(&shortest, unitsOfLeases(shortest), try)
	}
	return shortest
}

func searchPart(operations []*history.Operation, budget int) Finding {
	if len(operations) == 0 {
		return Finding{Verdict: Fine}
	}
	if isFence(operations[0]) {
		return Search(Fences{}, operations, budget)
	}
	locks, err := NewLocks(operations)
	if err != nil {
		panic(err)
	}
	return Search(locks, operations, budget)
}

func before(operations []*history.Operation, end int64) []*history.Operation {
	var kept []*history.Operation
	for _, op := range operations {
		if op.Call <= end {
			kept = append(kept, op)
		}
	}
	return kept
}

type unit map[int]bool // the operations that are left out together, by id

// leaveOut tries to do without half of the units, then without a quarter, and so on down to each one.
func leaveOut(shortest *Part, units []unit, try func([]*history.Operation) bool) {
	for size := len(units); size > 0; size /= 2 {
		for start := 0; start < len(units); start += size {
			end := start + size
			if end > len(units) {
				end = len(units)
			}
			gone := unit{}
			for _, some := range units[start:end] {
				for id := range some {
					gone[id] = true
				}
			}
			if kept := without(shortest.Operations, gone); len(kept) < len(shortest.Operations) {
				try(kept)
			}
		}
	}
}

func without(operations []*history.Operation, gone unit) []*history.Operation {
	var kept []*history.Operation
	for _, op := range operations {
		if !gone[op.ID] {
			kept = append(kept, op)
		}
	}
	return kept
}

// looksOnly: nothing rests on it.
func looksOnly(op *history.Operation) bool {
	switch op.Kind {
	case history.Look, history.Read, history.LookFence:
		return true
	case history.Renew:
		return true
	}
	return op.Outcome == history.Refused || op.Outcome == history.Failed
}

func unitsThatLook(part Part) []unit {
	var units []unit
	for _, op := range part.Operations {
		if some := (unit{op.ID: true}); looksOnly(op) && op.ID != part.Culprit.ID && !isNeeded(part.Operations, some) {
			units = append(units, some)
		}
	}
	return units
}

// unitsOfLeases are the leases, fences and writes on which no answer rests that is left.
func unitsOfLeases(part Part) []unit {
	names := map[string]unit{}
	tokens := map[string]string{} // by request id
	for _, op := range part.Operations {
		if op.Request != "" && op.Granted != "" {
			tokens[op.Door+op.Request] = op.Granted
		}
	}
	var order []string
	for _, op := range part.Operations {
		name := nameOfUnit(op, tokens)
		if name == "" {
			continue
		}
		if names[name] == nil {
			names[name] = unit{}
			order = append(order, name)
		}
		names[name][op.ID] = true
	}
	var units []unit
	for _, name := range order {
		if some := names[name]; !some[part.Culprit.ID] && !isNeeded(part.Operations, some) {
			units = append(units, some)
		}
	}
	return units
}

func nameOfUnit(op *history.Operation, tokens map[string]string) string {
	switch op.Kind {
	case history.Acquire, history.Renew, history.Release, history.SetValue, history.Write:
		if op.Reentrant || op.Kind == history.Write {
			return op.Door + "\n" + op.Owner
		}
		if token := tokens[op.Door+op.Request]; op.Request != "" && token != "" {
			return op.Door + "\n" + token
		}
		if op.Request != "" {
			return op.Door + "\nrequest\n" + op.Request
		}
		if name := nameOf(op); name.token != "" {
			return name.door + "\n" + name.token
		}
		return "\nunknown\n" + op.Owner
	case history.PassFence:
		return "\nfence\n" + strconv.Itoa(op.ID)
	}
	return ""
}

// isNeeded: does an answer that is left rest on one of these?
func isNeeded(operations []*history.Operation, some unit) bool {
	for _, op := range operations {
		if some[op.ID] {
			continue
		}
		for _, needed := range operations {
			if some[needed.ID] && rests(op, needed) {
				return true
			}
		}
	}
	return false
}

func rests(op, needed *history.Operation) bool {
	switch op.Kind {
	case history.Read:
		return needed.Kind == history.Write
	case history.LookFence:
		return needed.Kind == history.PassFence && needed.Fence == op.Number
	case history.PassFence:
		return op.Outcome == history.Refused && needed.Kind == history.PassFence && needed.Fence == op.Number
	case history.Look:
		return !op.Free && (op.Holder == "" || op.Holder == needed.Owner)
	case history.Acquire, history.Write:
		named := op.Limit > 1 || op.Holder == "" || op.Holder == needed.Owner
		excludes := needed.Kind == history.Acquire || needed.Kind == history.Write
		return op.Outcome == history.Refused && named && excludes
	case history.Renew, history.Release, history.SetValue:
		return op.Token != "" && op.Token == needed.Token
	}
	return false
}
