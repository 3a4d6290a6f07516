// Package corruption starts the real server on files that are damaged, or that a loss of power has left behind, and looks whether it
// keeps what it has told. docs/referee.md says what is allowed.
package corruption

import (
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"

	"holdfast/tests/referee/preload"
)

// Settings of a run.
type Settings struct {
	Program string // the server
	Folder  string // for everything that is written; empty
	Seed    int64
	Cases   int
	Out     io.Writer
}

// casesPerLife: a new life of a server is recorded after so many.
const casesPerLife = 400

// What became of a case.
const (
	same    = "the same state"
	newer   = "a state that was being written"
	older   = "without the last record of the journal"
	stale   = "an older journal, which looks like one after a fold"
	refused = "refused to start, with the reason"
)

// outcome of a case.
type outcome struct {
	name  string // of the case
	what  string
	fault string // empty: allowed
}

// Run returns the faults that it found.
func Run(settings Settings) ([]string, error) {
	library, err := preload.Build(settings.Folder)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	var faults []string
	for done, number := 0, int64(0); done < settings.Cases; number++ {
		count := settings.Cases - done
		if count > casesPerLife {
			count = casesPerLife
		}
		seed := settings.Seed*1000 + number
		folder := filepath.Join(settings.Folder, fmt.Sprint("life-", number))
		w, err := live(settings.Program, folder, library, seed)
		if err != nil {
			return faults, fmt.Errorf("life %d: %w", seed, err)
		}
		isFaulty := false
		for _, one := range w.tryAll(settings.Program, folder, count, rand.New(rand.NewSource(seed))) {
			counts[one.what]++
			if one.fault != "" {
				isFaulty = true
				faults = append(faults, fmt.Sprintf("seed %d: %s: %s", settings.Seed, one.name, one.fault))
			}
		}
		if !isFaulty {
			_ = os.RemoveAll(folder)
		}
		done += count
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(settings.Out, "%8d  %s\n", counts[name], name)
	}
	return faults, nil
}

func (w *world) tryAll(program, folder string, count int, random *rand.Rand) []outcome {
	cases := make(chan damaged)
	outcomes := make([]outcome, 0, count)
	var mutex sync.Mutex
	var group sync.WaitGroup
	for worker := 0; worker < runtime.NumCPU(); worker++ {
		place := filepath.Join(folder, fmt.Sprint("case-", worker))
		group.Add(1)
		go func() {
			defer group.Done()
			for one := range cases {
				ended := w.try(program, place, one)
				mutex.Lock()
				outcomes = append(outcomes, ended)
				mutex.Unlock()
			}
		}()
	}
	for i := 0; i < count; i++ {
		if i%2 == 0 {
			cases <- w.corruption(random)
		} else {
			cases <- w.power(random)
		}
	}
	close(cases)
	group.Wait()
	return outcomes
}

// try starts the server on the files of one case.
func (w *world) try(program, place string, one damaged) outcome {
	kept := one.what
	fail := func(format string, arguments ...any) outcome {
		return outcome{kept, "NOT ALLOWED", fmt.Sprintf(format, arguments...)}
	}
	_ = os.RemoveAll(place)
	data := filepath.Join(place, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fail("%v", err)
	}
	if err := one.make(data); err != nil {
		return fail("cannot be made: %v", err)
	}
	s, err := start(program, data, filepath.Join(place, "log"), nil)
	if s != nil {
		defer s.end()
	}
	if err != nil {
		return w.judgeRefusal(one, s, filepath.Join(place, "log"), err)
	}
	seen, err := s.look(w.fences)
	if err != nil {
		return fail("it started, and does not answer: %v", err)
	}
	place1, is := w.find(seen, one.acknowledged)
	if !is {
		return fail("it has a state that never was, after state %d of %d:\n%s\ninstead of\n%s", one.acknowledged, len(w.told)-1, seen.text,
			w.told[one.acknowledged].text)
	}
	if place1 < one.acknowledged-one.mayLose {
		return fail("it has state %d, and %d was acknowledged", place1, one.acknowledged)
	}
	if fault := w.isUsable(s, one, place1); fault != "" {
		return fail("%s", fault)
	}
	switch {
	case place1 == one.acknowledged:
		return outcome{kept, same, ""}
	case place1 > one.acknowledged:
		return outcome{kept, newer, ""}
	}
	if one.mayLose > 1 {
		return outcome{kept, stale, ""}
	}
	return outcome{kept, older, ""}
}

// find returns the state that was told which is like this one: the acknowledged one, or the newest before it, or the next.
func (w *world) find(seen state, acknowledged int) (int, bool) {
	for _, place := range []int{acknowledged, acknowledged + 1} {
		if place < len(w.told) && w.told[place].text == seen.text {
			return place, true
		}
	}
	for place := acknowledged; place >= 0; place-- {
		if w.told[place].text == seen.text {
			return place, true
		}
	}
	return 0, false
}

// isUsable: every lease can be used by its holder and is refused to others, and new numbers are larger than all before.
func (w *world) isUsable(s *server, one damaged, place int) string {
	for token, held := range w.told[place].tokens {
		status, fields, err := s.ask("GET", "/v1/leases/"+token, nil)
		if err != nil || status != 200 || number(fields, "fencing_token") != held {
			return fmt.Sprintf("the lease with the number %d is listed, and its holder is told %d %v %v", held, status, fields, err)
		}
	}
	largest := w.told[one.acknowledged].largest
	status, fields, err := s.ask("POST", "/v1/leases", map[string]any{"scope": "a-new-one", "holder": "a-new-one", "ttl_ms": 1000})
	if err != nil || status != 200 {
		return fmt.Sprintf("it grants nothing: %d %v %v", status, fields, err)
	}
	if granted := number(fields, "fencing_token"); granted <= largest {
		return fmt.Sprintf("it granted the number %d, and had given out %d", granted, largest)
	}
	return ""
}

// judgeRefusal: a server that does not start must say why, and which file it is.
func (w *world) judgeRefusal(one damaged, s *server, log string, err error) outcome {
	said, _ := os.ReadFile(log)
	_, last, found := strings.Cut("\n"+string(said), "\nholdfast: ")
	if s != nil && s.process.IsAlive() {
		return outcome{one.what, "NOT ALLOWED", fmt.Sprintf("it neither starts nor ends: %s", said)}
	}
	if s == nil || !found || !strings.Contains(last, database) {
		return outcome{one.what, "NOT ALLOWED", fmt.Sprintf("it ended without a clear sentence: %v: %s", err, last)}
	}
	return outcome{one.what, refused, ""}
}
