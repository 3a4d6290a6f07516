package judge

import (
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"

	"holdfast/tests/referee/history"
)

func sortStrings(texts []string) { sort.Strings(texts) }

func judged(t *testing.T, h *history.History) *Report {
	t.Helper()
	report, err := Judge(h, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestARightServerIsFoundRight(t *testing.T) {
	for seed := int64(1); seed <= 300; seed++ {
		h := toyHistory(seed, none, 8, 2, 150, 0.1)
		report := judged(t, h)
		for _, fault := range report.Faults {
			var texts []string
			for _, op := range fault.Operations {
				texts = append(texts, span(op)+" "+op.Owner+" "+Describe(op))
			}
			t.Fatalf("seed %d: %s: %s\n%s", seed, fault.Rule, fault.Text, strings.Join(texts, "\n"))
		}
		for _, part := range report.Violations() {
			t.Fatalf("seed %d: %s", seed, Shorten(part, 100_000).Text())
		}
		if undecided := len(report.Undecided()); undecided > 0 {
			t.Fatalf("seed %d: %d undecided", seed, undecided)
		}
	}
}

func TestEachMistakeIsFound(t *testing.T) {
	for planted := none + 1; planted < mistakes; planted++ {
		found := int64(0)
		for seed := int64(1); seed <= 1000 && found == 0; seed++ {
			if !judged(t, toyHistory(seed, planted, 8, 2, 150, 0.1)).IsGood() {
				found = seed
			}
		}
		if found == 0 {
			t.Errorf("mistake %d is not found", planted)
		}
		t.Logf("mistake %d: seed %d", planted, found)
	}
}

// everyOrder tries all orders, without any of the rules that make the search quick.
func everyOrder(specification Specification, state State, left []*history.Operation) bool {
	end := history.Never
	for _, op := range left {
		if op.Return < end {
			end = op.Return
		}
	}
	if end == history.Never {
		return true
	}
	for i, op := range left {
		if op.Call > end {
			continue
		}
		others := append(append([]*history.Operation(nil), left[:i]...), left[i+1:]...)
		for _, next := range specification.Step(state, op, end) {
			if everyOrder(specification, next, others) {
				return true
			}
		}
	}
	return false
}

// change makes one answer another one.
func change(random *rand.Rand, h *history.History) {
	op := &h.Operations[random.Intn(len(h.Operations))]
	switch random.Intn(5) {
	case 0:
		op.Outcome, op.Return, op.Answer = history.Unknown, history.Never, history.Answer{}
	case 1:
		if op.Outcome == history.OK {
			op.Number += uint64(random.Intn(3))
		}
	case 2:
		if op.Outcome == history.OK && op.Kind != history.Look {
			op.Outcome, op.Answer = history.Refused, history.Answer{}
		}
	case 3:
		if op.Outcome != history.Unknown {
			op.Holder = fmt.Sprintf("owner-%d", 1+random.Intn(4))
		}
	case 4:
		op.Call -= int64(random.Intn(20)) * 1e6
	}
}

func TestTheSearchAgreesWithEveryOrder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	verdicts := map[bool]int{}
	for seed := int64(1); seed <= 3000; seed++ {
		planted := mistake(0)
		if seed%2 == 0 {
			planted = mistake(random.Intn(int(mistakes)))
		}
		h := toyHistory(seed, planted, 3, 1, 8, 0.25)
		for i := random.Intn(3); i > 0; i-- {
			change(random, h)
		}
		sort.SliceStable(h.Operations, func(i, j int) bool { return h.Operations[i].Call < h.Operations[j].Call })
		var operations []*history.Operation
		for i := range h.Operations {
			if h.Operations[i].Outcome != history.Failed {
				operations = append(operations, &h.Operations[i])
			}
		}
		some, err := parts(operations)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range some {
			locks, err := NewLocks(part)
			if err != nil {
				t.Fatal(err)
			}
			expected := everyOrder(locks, locks.Start(), part)
			finding := Search(locks, part, 1_000_000)
			verdicts[expected]++
			if (finding.Verdict == Fine) != expected {
				t.Fatalf("seed %d: every order says %t, the search %s\n%s", seed, expected, finding.Verdict,
					Part{part[0].Scopes[0], part, finding}.Text())
			}
		}
	}
	t.Logf("verdicts: %v", verdicts)
	if verdicts[true] < 500 || verdicts[false] < 500 {
		t.Fatalf("too few of one kind: %v", verdicts)
	}
}

func TestAHundredThousandOperationsAreQuick(t *testing.T) {
	h := toyHistory(7, none, 40, 10, 100_000, 0.02)
	began := time.Now()
	report := judged(t, h)
	took := time.Since(began)
	t.Logf("%d operations, %d parts, %d undecided, %s", len(h.Operations), len(report.Parts), len(report.Undecided()), took)
	if !report.IsGood() {
		t.Fatalf("%d violations, %d faults, %d undecided", len(report.Violations()), len(report.Faults), len(report.Undecided()))
	}
	if took > time.Minute {
		t.Fatalf("it took %s", took)
	}
}

func TestAViolationIsShortenedToWhatShowsIt(t *testing.T) {
	lengths := []int{}
	for seed := int64(1); seed <= 60; seed++ {
		report := judged(t, toyHistory(seed, grantsWhatIsHeld, 8, 1, 300, 0.05))
		for _, part := range report.Violations() {
			short := Shorten(part, 100_000)
			if short.Verdict != Violation {
				t.Fatalf("seed %d: what is left is %s", seed, short.Verdict)
			}
			lengths = append(lengths, len(short.Operations))
			text := short.Text()
			if !strings.Contains(text, "\n! ") {
				t.Fatalf("no operation is marked:\n%s", text)
			}
			picture := Picture(short.Operations, short.Culprit, "a test")
			if strings.Count(picture, "<rect") != len(short.Operations)+1 {
				t.Fatalf("not every operation is in the picture:\n%s", picture)
			}
		}
	}
	sort.Ints(lengths)
	if len(lengths) < 20 || lengths[len(lengths)/2] > 4 {
		t.Fatalf("lengths: %v", lengths)
	}
	t.Logf("%d violations, half of them with at most %d operations, the longest with %d", len(lengths), lengths[len(lengths)/2],
		lengths[len(lengths)-1])
}

// Leaving operations out must not make a right history wrong.
func TestWhatIsLeftOutOfARightHistoryDoesNotMakeItWrong(t *testing.T) {
	for seed := int64(1); seed <= 200; seed++ {
		report := judged(t, toyHistory(seed, none, 6, 1, 80, 0.1))
		for _, part := range report.Parts {
			if len(part.Operations) == 0 {
				continue
			}
			part.Culprit = part.Operations[len(part.Operations)-1]
			shortest := Part{part.Scope, part.Operations, part.Finding}
			leaveOut(&shortest, append(unitsThatLook(part), unitsOfLeases(part)...), func(kept []*history.Operation) bool {
				if finding := searchPart(kept, 100_000); finding.Verdict == Violation {
					t.Fatalf("seed %d:\n%s", seed, Part{part.Scope, kept, finding}.Text())
				}
				return false
			})
		}
	}
}
