// Package judge decides whether a history of clients is one that a lock server may have.
//
// It knows the server by its documents alone (docs/protocols, docs/concepts.md). docs/referee.md explains how it works.
package judge

import (
	"fmt"
	"runtime"
	"sort"
	"sync"

	"holdfast/tests/referee/history"
)

// DefaultBudget is how many states one search may make.
const DefaultBudget = 300_000

// Part is the verdict about some locks that belong together.
type Part struct {
	Scope      string
	Operations []*history.Operation
	Finding
}

// Report is the verdict about a whole history.
type Report struct {
	Operations int
	Parts      []Part
	Faults     []Fault // of the rules that need no search
}

// Violations are the parts that no order explains.
func (r *Report) Violations() []Part { return r.with(Violation) }

// Undecided are the parts whose budget was used up.
func (r *Report) Undecided() []Part { return r.with(Undecided) }

func (r *Report) with(verdict Verdict) []Part {
	var parts []Part
	for _, part := range r.Parts {
		if part.Verdict == verdict {
			parts = append(parts, part)
		}
	}
	return parts
}

// IsGood is false with a violation, or if more than one part of a hundred is undecided.
func (r *Report) IsGood() bool {
	return len(r.Violations()) == 0 && len(r.Faults) == 0 && len(r.Undecided())*100 <= len(r.Parts)
}

// Judge looks at a whole history.
func Judge(h *history.History, budget int) (*Report, error) {
	var locks, fences []*history.Operation
	for i := range h.Operations {
		op := &h.Operations[i]
		switch {
		case isFence(op) && op.Outcome == history.Failed:
		case isFence(op):
			fences = append(fences, op)
		default:
			locks = append(locks, op)
		}
	}
	report := &Report{Operations: len(h.Operations)}
	lockParts, err := parts(locks)
	if err != nil {
		return nil, err
	}
	fenceParts, err := parts(fences)
	if err != nil {
		return nil, err
	}
	restarts := restartsOf(h)
	report.Faults = append(numbersGrow(locks), oneEffect(locks, restarts)...)
	report.Faults = append(report.Faults, inOrder(locks, restarts)...)
	report.Parts = make([]Part, len(lockParts)+len(fenceParts))
	faults := make([][]Fault, len(report.Parts))
	inParallel(len(report.Parts), func(i int) {
		if i < len(lockParts) {
			report.Parts[i], faults[i] = judgeLocks(lockParts[i], budget)
		} else {
			operations := fenceParts[i-len(lockParts)]
			report.Parts[i] = Part{operations[0].Scopes[0], operations, Search(Fences{}, operations, budget)}
		}
	})
	for _, some := range faults {
		report.Faults = append(report.Faults, some...)
	}
	return report, nil
}

func judgeLocks(operations []*history.Operation, budget int) (Part, []Fault) {
	locks, err := NewLocks(operations)
	if err != nil {
		panic(err) // parts() has read the scopes before
	}
	return Part{operations[0].Scopes[0], operations, Search(locks, operations, budget)}, twoHolders(operations, locks)
}

func isFence(op *history.Operation) bool {
	return op.Kind == history.PassFence || op.Kind == history.LookFence || op.Kind == history.DropFence
}

func restartsOf(h *history.History) []int64 {
	var restarts []int64
	for _, note := range h.Notes {
		if note.Text == "restart" {
			restarts = append(restarts, note.At)
		}
	}
	sort.Slice(restarts, func(i, j int) bool { return restarts[i] < restarts[j] })
	return restarts
}

func inParallel(count int, work func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for worker := 0; worker < runtime.NumCPU(); worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				work(i)
			}
		}()
	}
	for i := 0; i < count; i++ {
		next <- i
	}
	close(next)
	group.Wait()
}

// moment is a time for people.
func moment(at int64) string { return fmt.Sprintf("%.3f s", float64(at)/1e9) }
