package preload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func built(t *testing.T) (library *Library, folder string) {
	t.Helper()
	folder = t.TempDir()
	library, err := Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	return library, folder
}

// dd is a program that writes and syncs.
func dd(library *Library, folder, record string, words ...string) (string, error) {
	command := exec.Command("dd", append([]string{"if=/dev/zero", "of=" + filepath.Join(folder, "file"), "bs=4096", "count=2",
		"conv=notrunc,fsync"}, words...)...)
	command.Env = library.Environment(folder, record)
	said, err := command.CombinedOutput()
	return string(said), err
}

func TestWritesAndSyncsFail(t *testing.T) {
	library, folder := built(t)
	if said, err := dd(library, folder, ""); err != nil {
		t.Fatal(said)
	}
	library.FailWrites(syscall.EIO)
	if said, err := dd(library, folder, ""); err == nil || !strings.Contains(said, "Input/output error") {
		t.Errorf("writes do not fail: %v %s", err, said)
	}
	library.FailWrites(0)
	library.FailSyncs(syscall.ENOSPC)
	if said, err := dd(library, folder, ""); err == nil || !strings.Contains(said, "No space left") {
		t.Errorf("syncs do not fail: %v %s", err, said)
	}
	if library.Failures() < 2 || library.Writes() < 4 {
		t.Errorf("counted %d failures, %d writes", library.Failures(), library.Writes())
	}
}

func TestOtherFoldersAreNotTouched(t *testing.T) {
	library, _ := built(t)
	library.FailWrites(syscall.EIO)
	command := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(t.TempDir(), "file"), "count=1")
	command.Env = library.Environment("/nowhere", "")
	if said, err := command.CombinedOutput(); err != nil {
		t.Error(string(said))
	}
}

func TestSyncsAreSlow(t *testing.T) {
	library, folder := built(t)
	library.SlowSyncs(300 * time.Millisecond)
	began := time.Now()
	if said, err := dd(library, folder, ""); err != nil {
		t.Fatal(said)
	}
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("it took %s", took)
	}
}

func TestTheTimeOfDayIsSet(t *testing.T) {
	library, folder := built(t)
	for _, ahead := range []time.Duration{0, 30 * time.Hour, -30*time.Hour - 700*time.Millisecond} {
		library.SetClock(ahead)
		command := exec.Command("date", "+%s")
		command.Env = library.Environment(folder, "")
		said, err := command.Output()
		seconds, _ := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
		if off := time.Since(time.Unix(seconds, 0).Add(-ahead)); err != nil || off < -2*time.Second || off > 30*time.Second {
			t.Errorf("%s ahead: date says %s, which is %s off", ahead, said, off)
		}
	}
}

func TestChangesAreRecorded(t *testing.T) {
	library, folder := built(t)
	record := filepath.Join(t.TempDir(), "record")
	if said, err := dd(library, folder, record, "seek=1"); err != nil {
		t.Fatal(said)
	}
	move := exec.Command("mv", filepath.Join(folder, "file"), filepath.Join(folder, "other"))
	move.Env = library.Environment(folder, record)
	_ = move.Run()
	changes, err := ReadRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, one := range changes {
		if one.Kind == Cut {
			continue
		}
		kinds = append(kinds, one.Kind)
		if filepath.Dir(one.Path) != folder {
			t.Errorf("a change of %s", one.Path)
		}
	}
	if len(kinds) < 3 || kinds[0] != Write || kinds[1] != Write || kinds[2] != Sync {
		t.Errorf("recorded %v", kinds)
	}
	if first := changes[len(changes)-len(kinds)]; first.Offset != 4096 || len(first.Bytes) != 4096 {
		t.Errorf("the first write is at %d, with %d bytes", first.Offset, len(first.Bytes))
	}
	_ = os.Remove(record)
}
