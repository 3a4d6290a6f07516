package torment

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// disk is what goes wrong with the disk and the clock of one server. What needs our library is left out where that cannot be built.
func (t *ofServer) disk() []torment {
	torments := []torment{{name: "the disk is full", do: t.fillDisk}}
	if t.server.library == nil {
		return torments
	}
	return append(torments,
		torment{name: "writes fail", do: func() error { return t.failing(t.server.library.FailWrites, syscall.EIO) }},
		torment{name: "syncs fail", do: func() error { return t.failing(t.server.library.FailSyncs, syscall.EIO) }},
		torment{name: "the disk is slow", do: t.slowDisk},
		torment{name: "the clock is set", do: t.setClock},
		torment{name: "killed, and started with another clock", do: t.restartAtAnotherTime})
}

func (t *ofServer) failing(fail func(syscall.Errno), with syscall.Errno) error {
	t.run.storeFails.Store(true)
	fail(with)
	t.pause(300*time.Millisecond, 2*time.Second)
	fail(0)
	t.pause(patience, patience) // the store is read again after a second
	t.run.storeFails.Store(false)
	return nil
}

func (t *ofServer) slowDisk() error {
	t.server.library.SlowSyncs(time.Duration(200+t.random.Intn(2000)) * time.Millisecond)
	t.pause(time.Second, 4*time.Second)
	t.server.library.SlowSyncs(0)
	return nil
}

// anotherTime is up to a day ahead or behind.
func (t *ofServer) anotherTime() time.Duration {
	most := []time.Duration{ttl, time.Minute, 24 * time.Hour}[t.random.Intn(3)]
	return time.Duration(t.random.Int63n(int64(2*most))) - most
}

// setClock moves the time of day a few times. It need not be right again at the end.
func (t *ofServer) setClock() error {
	for i := 0; i < 5; i++ {
		t.server.library.SetClock(t.anotherTime())
		t.pause(100*time.Millisecond, 800*time.Millisecond)
	}
	return nil
}

func (t *ofServer) restartAtAnotherTime() error {
	t.run.recorder.Note("restart")
	if err := t.server.End(syscall.SIGKILL); err != nil {
		return err
	}
	t.server.library.SetClock(t.anotherTime())
	return t.server.Start(t.options()...)
}

// fillDisk fills the small file system of the server's data, and empties it again.
func (t *ofServer) fillDisk() error {
	if t.server.smallDisk == "" {
		if t.server.library == nil {
			return nil
		}
		return t.failing(t.server.library.FailWrites, syscall.ENOSPC)
	}
	t.run.storeFails.Store(true)
	defer t.run.storeFails.Store(false)
	ballast := filepath.Join(t.server.smallDisk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		return err
	}
	for _, size := range []int{1 << 20, 1 << 16, 1 << 12, 1} {
		piece := make([]byte, size)
		for err = nil; err == nil; {
			_, err = file.Write(piece)
		}
	}
	_ = file.Close()
	t.pause(300*time.Millisecond, 2*time.Second)
	err = os.Remove(ballast)
	t.pause(patience, patience)
	return err
}
