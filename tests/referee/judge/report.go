package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"holdfast/tests/referee/history"
)

// shortenBudget is how many states each try to shorten a violation may make.
const shortenBudget = 200_000

// Text is the whole report.
func (r *Report) Text(h *history.History) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d operations:\n%s", r.Operations, countsOf(h))
	fmt.Fprintf(&text, "%d locks and fences judged: %d ok, %d violations, %d undecided\n", len(r.Parts), len(r.with(Fine)),
		len(r.Violations()), len(r.Undecided()))
	for _, part := range r.Undecided() {
		fmt.Fprintf(&text, "undecided: %s with %d operations\n", part.Scope, len(part.Operations))
	}
	fmt.Fprintf(&text, "rules that need no search: %d faults\n", len(r.Faults))
	verdict := "ok: a lock server may answer so"
	if !r.IsGood() {
		verdict = "NOT OK"
	}
	fmt.Fprintf(&text, "verdict: %s\n", verdict)
	return text.String()
}

func countsOf(h *history.History) string {
	type cell struct {
		door    string
		outcome history.Outcome
	}
	counts, doors := map[cell]int{}, map[string]bool{}
	for i := range h.Operations {
		op := &h.Operations[i]
		counts[cell{op.Door, op.Outcome}]++
		doors[op.Door] = true
	}
	var names []string
	for door := range doors {
		names = append(names, door)
	}
	sort.Strings(names)
	var text strings.Builder
	fmt.Fprintf(&text, "  %-12s %8s %8s %8s %8s\n", "door", "ok", "refused", "failed", "unknown")
	for _, door := range names {
		fmt.Fprintf(&text, "  %-12s %8d %8d %8d %8d\n", door, counts[cell{door, history.OK}], counts[cell{door, history.Refused}],
			counts[cell{door, history.Failed}], counts[cell{door, history.Unknown}])
	}
	return text.String()
}

// Show writes every violation to a folder, as text and as a picture, and returns the texts of at most five of each kind. `repeat`
// is how to see it again.
func (r *Report) Show(folder, repeat string) (string, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	var text strings.Builder
	for i, part := range r.Violations() {
		if i == 5 {
			fmt.Fprintf(&text, "and %d more violations\n", len(r.Violations())-i)
			break
		}
		short := Shorten(part, shortenBudget)
		name := fmt.Sprintf("violation-%d", i+1)
		told := fmt.Sprintf("%s\n%s\n", short.Text(), repeat)
		title := fmt.Sprintf("%s: what is framed in red fits nowhere", part.Scope)
		if err := save(folder, name, told, Picture(short.Operations, short.Culprit, title)); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n", told)
	}
	for i, fault := range r.Faults {
		if i == 5 {
			fmt.Fprintf(&text, "and %d more faults\n", len(r.Faults)-i)
			break
		}
		told := fault.text() + "\n" + repeat + "\n"
		if err := save(folder, fmt.Sprintf("fault-%d", i+1), told, Picture(fault.Operations, nil, fault.Text)); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n", told)
	}
	return text.String(), nil
}

func (f *Fault) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n\n", f.Rule, f.Text)
	for _, op := range f.Operations {
		fmt.Fprintf(&text, "  %s  %-14s %s\n", span(op), op.Owner, Describe(op))
	}
	return text.String()
}

func save(folder, name, text, picture string) error {
	if err := os.WriteFile(filepath.Join(folder, name+".txt"), []byte(text), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".svg"), []byte(picture), 0o666)
}
