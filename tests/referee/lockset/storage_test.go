package lockset

import (
	"strings"
	"testing"
	"time"
)

// Ann reads and is paused; Bob adds; Ann goes on with what she read.
func pausedWriter(t *testing.T, hasFence bool) *storage {
	t.Helper()
	s, err := newStorage(2, hasFence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	seen := strings.Fields(s.read(0, 33, time.Now()))[1:]
	s.read(1, 34, time.Now())
	if answer := s.write(34, "bob", nil); answer != "ok" {
		t.Fatalf("bob's write: %s", answer)
	}
	s.write(33, "ann", seen)
	return s
}

func TestAnAdditionIsLostWithoutAFence(t *testing.T) {
	if s := pausedWriter(t, false); s.lost() != 1 || s.refused != 0 {
		t.Errorf("%d lost, %d refused", s.lost(), s.refused)
	}
}

func TestAFenceRefusesAnOldWriter(t *testing.T) {
	if s := pausedWriter(t, true); s.lost() != 0 || s.refused != 1 {
		t.Errorf("%d lost, %d refused", s.lost(), s.refused)
	}
}

// The read of the new holder already closes the storage for the old one.
func TestAFenceIsShownWithReads(t *testing.T) {
	s, err := newStorage(2, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.read(0, 33, time.Now())
	s.read(1, 34, time.Now())
	if answer := s.write(33, "ann", nil); answer != "old" {
		t.Errorf("ann's late write: %s", answer)
	}
	if answer := s.read(0, 33, time.Now()); answer != "old" {
		t.Errorf("ann's late read: %s", answer)
	}
	if answer := s.write(34, "bob", nil); answer != "ok" || s.lost() != 0 {
		t.Errorf("bob's write: %s, %d lost", answer, s.lost())
	}
}

func TestARunIsOverAfterTheLastAddition(t *testing.T) {
	s := pausedWriter(t, false)
	select {
	case <-s.over:
	default:
		t.Error("it is not over after two additions")
	}
	if answer := s.write(35, "carol", nil); answer != "over" {
		t.Errorf("a third one: %s", answer)
	}
}
