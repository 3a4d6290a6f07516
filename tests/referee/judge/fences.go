package judge

import (
	"strconv"

	"holdfast/tests/referee/history"
)

// Fences is the specification of the register that remembers the largest number of an outside resource.
type Fences struct{}

// fenceState is the largest number; 0: none was shown.
type fenceState uint64

func (s fenceState) Key() string { return strconv.FormatUint(uint64(s), 10) }

func (s fenceState) String() string { return "the largest number is " + s.Key() }

// Start is the state in which no number was shown.
func (Fences) Start() State { return fenceState(0) }

// Looks is true of requests that change nothing.
func (Fences) Looks(op *history.Operation) bool {
	return op.Kind == history.LookFence || op.Outcome == history.Refused
}

// Weaken has nothing to allow: a number that was shown stays.
func (Fences) Weaken(state State, op *history.Operation) (State, bool) {
	return state, op.Kind != history.LookFence
}

// Helps: an answer that names a number rests on whoever showed it.
func (Fences) Helps(unknown, op *history.Operation) bool {
	return unknown.Kind == history.DropFence || unknown.Fence == op.Number
}

// Precedes is never known.
func (Fences) Precedes(first, second *history.Operation) bool { return false }

// Alike is never known.
func (Fences) Alike(unknown *history.Operation, now int64) string { return "" }

// Step is one request at the register.
func (Fences) Step(state State, op *history.Operation, now int64) []State {
	largest := state.(fenceState)
	switch op.Kind {
	case history.PassFence:
		if op.Outcome == history.Refused {
			if uint64(largest) > op.Fence && op.Number == uint64(largest) {
				return []State{largest}
			}
			return nil
		}
		if op.Fence >= uint64(largest) {
			return []State{fenceState(op.Fence)}
		}
	case history.LookFence:
		if op.Number == uint64(largest) {
			return []State{largest}
		}
	case history.DropFence:
		return []State{fenceState(0)}
	}
	return nil
}
