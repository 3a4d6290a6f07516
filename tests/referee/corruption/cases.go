package corruption

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"

	"holdfast/tests/referee/preload"
)

// damaged is one case: files that a server finds, and what it may say of them.
type damaged struct {
	what string
	// acknowledged is the place in told of the last state that a client was told before the damage.
	acknowledged int
	// mayLose is how many acknowledged states may be missing: the last record of the journal can be damaged unseen.
	mayLose int
	make    func(folder string) error
}

// The files of a server.
const (
	database = "holdfast.db"
	log      = "holdfast.db-wal"
	journal  = "holdfast.db.journal"
)

// corruption damages one file of a server that was killed.
func (w *world) corruption(random *rand.Rand) damaged {
	names := []string{database, log, journal}
	name := names[random.Intn(len(names))]
	kind := random.Intn(5)
	what := []string{"a bit is flipped", "cut off", "zeroed in a block", "a block is doubled", "replaced by an older copy"}[kind]
	seed := random.Int63()
	d := damaged{what: fmt.Sprintf("%s: %s (%d)", name, what, seed), acknowledged: len(w.told) - 1}
	if name == journal {
		d.mayLose = 1
	}
	if name == journal && kind == 4 {
		d.mayLose = len(w.told)
	}
	d.make = func(folder string) error {
		if err := copyFolder(w.folder, folder); err != nil {
			return err
		}
		path := filepath.Join(folder, name)
		bytes, err := os.ReadFile(path)
		if err != nil || len(bytes) == 0 {
			return err // there is no such file now: nothing is damaged
		}
		if kind == 4 {
			older, err := os.ReadFile(filepath.Join(w.older, name))
			if err != nil {
				return os.Remove(path)
			}
			return os.WriteFile(path, older, 0o600)
		}
		return os.WriteFile(path, damage(bytes, kind, rand.New(rand.NewSource(seed))), 0o600)
	}
	return d
}

func damage(bytes []byte, kind int, random *rand.Rand) []byte {
	// Half of the places are among what was written, not in the zeros behind it.
	used := len(bytes)
	for used > 1 && bytes[used-1] == 0 {
		used--
	}
	if random.Intn(2) == 0 {
		used = len(bytes)
	}
	place, block := random.Intn(used), []int{512, 4096}[random.Intn(2)]
	begin := place / block * block
	end := begin + block
	if end > len(bytes) {
		end = len(bytes)
	}
	switch kind {
	case 0:
		bytes[place] ^= 1 << random.Intn(8)
	case 1:
		return bytes[:place]
	case 2:
		for i := begin; i < end; i++ {
			bytes[i] = 0
		}
	case 3:
		doubled := append([]byte{}, bytes[:end]...)
		return append(doubled, bytes[begin:]...)
	}
	return bytes
}

// power is a loss of power after one of the changes, or in it.
func (w *world) power(random *rand.Rand) damaged {
	after := 1 + random.Intn(len(w.changes))
	kind := random.Intn(3)
	what := []string{"all that was not synced is lost", "one write that was not synced is lost", "the last write is torn"}[kind]
	seed := random.Int63()
	last := w.changes[after-1]
	d := damaged{what: fmt.Sprintf("power fails after change %d of %d, at %s: %s (%d)", after, len(w.changes), filepath.Base(last.Path), what,
		seed)}
	whole := last.End // of the record: what was told by then
	if kind == 2 {
		whole = last.End - 1
	}
	for place, one := range w.told {
		if one.changes <= whole {
			d.acknowledged = place
		}
	}
	d.make = func(folder string) error {
		return replay(w.folder, folder, w.changes[:after], kind, rand.New(rand.NewSource(seed)))
	}
	return d
}

// replay writes to a folder what a disk has after the changes, and a loss of power.
func replay(from, folder string, changes []preload.Change, kind int, random *rand.Rand) error {
	lost := unsynced(changes)
	switch kind {
	case 1:
		var some []int
		for place := range lost {
			some = append(some, place)
		}
		lost = map[int]bool{}
		if len(some) > 0 {
			lost[smallestAfter(some, random.Intn(len(some)))] = true
		}
	case 2:
		lost = map[int]bool{}
	}
	files := map[string][]byte{}
	for place, one := range changes {
		if lost[place] {
			continue
		}
		if kind == 2 && place == len(changes)-1 && (one.Kind == preload.Write || one.Kind == preload.DurableWrite) {
			one.Bytes = one.Bytes[:random.Intn(len(one.Bytes)/512+1)*512]
		}
		apply(files, one)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for path, bytes := range files {
		if strings.HasSuffix(path, "-shm") {
			continue // a mapped file: not on disk after a loss of power
		}
		if err := os.WriteFile(filepath.Join(folder, strings.TrimPrefix(path, from)), bytes, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func smallestAfter(places []int, skip int) int {
	for i := range places {
		for j := i + 1; j < len(places); j++ {
			if places[j] < places[i] {
				places[i], places[j] = places[j], places[i]
			}
		}
	}
	return places[skip]
}

// unsynced are the writes and cuts after which their file was not synced.
func unsynced(changes []preload.Change) map[int]bool {
	pending, lost := map[string][]int{}, map[int]bool{}
	for place, one := range changes {
		switch one.Kind {
		case preload.Write, preload.Cut:
			pending[one.Path] = append(pending[one.Path], place)
		case preload.Sync:
			delete(pending, one.Path)
		case preload.Rename:
			pending[one.To] = pending[one.Path]
			delete(pending, one.Path)
		case preload.Remove:
			delete(pending, one.Path)
		}
	}
	for _, places := range pending {
		for _, place := range places {
			lost[place] = true
		}
	}
	return lost
}

func apply(files map[string][]byte, one preload.Change) {
	content := files[one.Path]
	switch one.Kind {
	case preload.Write, preload.DurableWrite:
		files[one.Path] = resized(content, max(len(content), int(one.Offset)+len(one.Bytes)))
		copy(files[one.Path][one.Offset:], one.Bytes)
	case preload.Cut:
		files[one.Path] = resized(content, int(one.Offset))
	case preload.Rename:
		files[one.To] = content
		delete(files, one.Path)
	case preload.Remove:
		delete(files, one.Path)
	}
}

func resized(content []byte, size int) []byte {
	if size <= len(content) {
		return content[:size:size]
	}
	return append(append(make([]byte, 0, size), content...), make([]byte, size-len(content))...)
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}
