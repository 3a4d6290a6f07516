package judge

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"holdfast/tests/referee/history"
)

// story reads a history from lines such as
//
//	0-10 ann acquire x ttl=1000 -> ok n=7
//
// Times are milliseconds; "0-?" has no known end. The token of a lease is its owner, unless token= says otherwise. A line "note
// 500 restart" is a note.
func story(t *testing.T, text string) *history.History {
	t.Helper()
	h := &history.History{}
	for number, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "note" {
			h.Notes = append(h.Notes, history.Note{At: milliseconds(t, words[1]), Text: words[2]})
			continue
		}
		h.Operations = append(h.Operations, operation(t, number+1, words))
	}
	return h
}

func operation(t *testing.T, id int, words []string) history.Operation {
	t.Helper()
	from, to, _ := strings.Cut(words[0], "-")
	op := history.Operation{ID: id, Call: milliseconds(t, from), Return: history.Never, Outcome: history.Unknown}
	owner, door, hasDoor := strings.Cut(words[1], "@") // carl@redis: at a door that differs from others
	if !hasDoor {
		door = "door"
	}
	op.Client, op.Door, op.Owner, op.Kind = owner, door, owner, history.Kind(words[2])
	op.Scopes = strings.Split(words[3], ",")
	if op.Kind != history.Acquire {
		op.Token = op.Owner
	}
	if to != "?" {
		op.Return = milliseconds(t, to)
	}
	for _, word := range words[4:] {
		key, value, _ := strings.Cut(word, "=")
		set(t, &op, key, value)
	}
	if op.Kind == history.Acquire && op.Outcome == history.OK && op.Token == "" {
		op.Granted = op.Owner
	}
	return op
}

func set(t *testing.T, op *history.Operation, key, value string) {
	t.Helper()
	number, _ := strconv.ParseUint(value, 10, 64)
	switch key {
	case "->":
	case "ok", "refused", "failed", "unknown":
		op.Outcome = history.Outcome(key)
	case "ttl":
		op.TTLms = int64(number)
	case "grace":
		op.GraceMs = int64(number)
	case "wait":
		op.WaitMs = int64(number)
	case "shared":
		op.Shared = true
	case "limit":
		op.Limit = int(number)
	case "request":
		op.Request = value
	case "again":
		op.Reentrant, op.Token = true, op.Owner
	case "token":
		op.Token = value
	case "holds":
		op.Holds = true
	case "frees":
		op.Frees = true
	case "value":
		op.Value = value
	case "fence":
		op.Fence = number
	case "n":
		op.Number = number
	case "holder":
		op.Holder = value
	case "kept":
		op.Kept = true
	case "free":
		op.Free = true
	case "content":
		op.Content = value
	case "revision":
		op.Revision = int(number)
	case "queue":
		op.Queue = strings.Split(value, ",")
	default:
		t.Fatalf("unknown word %q", key)
	}
}

func milliseconds(t *testing.T, text string) int64 {
	t.Helper()
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return number * 1e6
}

// tale is a history whose verdict is known.
type tale struct {
	name  string
	wrong string // empty: it is right; "search", or the name of a rule: that finds it, among others
	text  string
}

func check(t *testing.T, tales []tale) {
	for _, one := range tales {
		one := one
		t.Run(strings.ReplaceAll(one.name, " ", "_"), func(t *testing.T) {
			report, err := Judge(story(t, one.text), 100_000)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			var texts []string
			for _, part := range report.Violations() {
				found["search"] = true
				texts = append(texts, part.Text())
			}
			for _, fault := range report.Faults {
				found[fault.Rule] = true
				texts = append(texts, fmt.Sprintf("%s: %s", fault.Rule, fault.Text))
			}
			if len(report.Undecided()) > 0 {
				t.Fatal("undecided")
			}
			if one.wrong == "" && len(found) > 0 {
				t.Fatalf("found, and should not:\n%s", strings.Join(texts, "\n"))
			}
			if one.wrong != "" && !found[one.wrong] {
				t.Fatalf("%q was not found, only %v\n%s", one.wrong, found, strings.Join(texts, "\n"))
			}
		})
	}
}
