// Package planted lets the referee judge a server in which a mistake was planted: it must find each of them.
package planted

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/tests/referee/judge"
	"holdfast/tests/referee/torment"
)

// Mistake of a server, and what shows it.
type Mistake struct {
	Name string
	// Torments that show it, with a semicolon between them; empty: none is needed.
	Torments string
	// Seed is odd if leases of dflockd's clients must end with their connections.
	Seed int64
	// IsRare: it is sought for longer.
	IsRare bool
}

const (
	restart = "killed and started again; stopped and started again"
	broken  = "writes fail; syncs fail"
	clock   = "killed, and started with another clock"
)

// Mistakes are those of mistakes.cmake.
var Mistakes = []Mistake{
	{"renewal_falls_short", "", 2, false},
	{"value_not_kept", "", 2, true},
	{"value_without_revision", "", 2, false},
	{"release_forgotten", "", 2, false},
	{"release_by_name_forgotten", "", 2, false},
	{"force_passes_leases_over", "", 2, false},
	{"no_grace", "", 2, true},
	{"granted_while_held", "", 2, false},
	{"queue_served_from_its_end", "", 2, false},
	{"range_granted_while_held", "", 2, true},
	{"grant_falls_short", "", 2, false},
	{"exclusive_joins_shared", "", 2, false},
	{"shared_excludes_shared", "", 2, false},
	{"one_permit_too_few", "", 2, false},
	{"one_permit_too_many", "", 2, false},
	{"ranges_do_not_conflict", "", 2, false},
	{"a_new_lease_has_no_time", "", 2, false},
	{"any_owner_is_the_same", "", 2, false},
	{"set_looks_at_its_first_lock_only", "", 2, false},
	{"set_granted_in_part", "", 2, false},
	{"restored_lease_cut_short", restart, 2, false},
	{"stale_fence_accepted", "", 2, false},
	{"fence_not_raised", "", 2, false},
	{"answer_before_its_commit", broken, 2, false},
	{"numbers_used_again_after_a_restart", clock, 3, true},
	{"every_fourth_grant_not_written", restart, 2, false},
	{"end_not_written", restart, 2, false},
}

// Settings of a run.
type Settings struct {
	Program string // holdfast_planted
	Folder  string // for what is found
	Only    string // the only mistake
	Lasts   time.Duration
	Out     io.Writer
}

// Run returns the names of those that were not found.
func Run(settings Settings) ([]string, error) {
	var missed []string
	for _, one := range Mistakes {
		if settings.Only != "" && settings.Only != one.Name {
			continue
		}
		began := time.Now()
		how, err := find(settings, one)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", one.Name, err)
		}
		if how == "" {
			missed = append(missed, one.Name)
			how = "NOT FOUND"
		}
		fmt.Fprintf(settings.Out, "%-36s %5.1f s  %s\n", one.Name, time.Since(began).Seconds(), how)
	}
	return missed, nil
}

// find says how the mistake was found; empty: it was not.
func find(settings Settings, one Mistake) (string, error) {
	if err := os.Setenv("HOLDFAST_PLANTED", one.Name); err != nil {
		return "", err
	}
	folder := filepath.Join(settings.Folder, one.Name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	lasts := settings.Lasts
	if one.IsRare {
		lasts *= 5
	}
	outcome, err := torment.Run(torment.Settings{Program: settings.Program, Folder: folder, Seed: one.Seed, Lasts: lasts,
		Only: one.Torments, Calm: one.Torments == "", Out: io.Discard})
	if outcome == nil {
		return "", err
	}
	report, judgeErr := judge.Judge(outcome.History, judge.DefaultBudget)
	if judgeErr != nil {
		return "", judgeErr
	}
	if violations := report.Violations(); len(violations) > 0 {
		_, err := report.Show(folder, "again: referee planted --only "+one.Name)
		return fmt.Sprintf("no order explains what was answered about %s", violations[0].Scope), err
	}
	if len(report.Faults) > 0 {
		return report.Faults[0].Rule, nil
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first, nil
	}
	return "", nil
}
