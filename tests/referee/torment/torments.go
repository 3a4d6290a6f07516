package torment

import (
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// torment is one thing that goes wrong, and is over when it returns.
type torment struct {
	name string
	do   func(t *Torments) error
}

// Torments are everything that can go wrong with one server.
type Torments struct {
	server  *Server
	proxies []*Proxy
	run     *run
	random  *rand.Rand
}

var all = []torment{
	{"killed and started again", (*Torments).kill},
	{"stopped and started again", (*Torments).restart},
	{"stands still", (*Torments).standStill},
	{"reads its files again", (*Torments).reload},
	{"answers are lost", (*Torments).swallow},
	{"links are slow", (*Torments).slow},
	{"connections break", (*Torments).cut},
	{"the disk is full", (*Torments).fillDisk},
	{"killed twice", (*Torments).killTwice},
}

func (t *Torments) pause(least, most time.Duration) {
	for end := time.Now().Add(least + time.Duration(t.random.Int63n(int64(most-least)+1))); time.Now().Before(end); {
		if t.run.isOver.Load() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// options of a start: other threads, and other limits that no client of a run reaches.
func (t *Torments) options() []string {
	return []string{"--threads", strconv.Itoa(1 + t.random.Intn(3)), "--leases-max", strconv.Itoa(5000 + t.random.Intn(5000))}
}

func (t *Torments) kill() error {
	t.run.recorder.Note("restart")
	if err := t.server.End(syscall.SIGKILL); err != nil {
		return err
	}
	t.pause(0, 1500*time.Millisecond)
	return t.server.Start(t.options()...)
}

func (t *Torments) killTwice() error {
	if err := t.kill(); err != nil {
		return err
	}
	t.pause(0, 300*time.Millisecond)
	return t.kill()
}

func (t *Torments) restart() error {
	t.run.recorder.Note("restart")
	if err := t.server.End(syscall.SIGTERM); err != nil {
		return err
	}
	t.run.recorder.Note("restart")
	return t.server.Start(t.options()...)
}

func (t *Torments) standStill() error {
	t.server.Signal(syscall.SIGSTOP)
	t.pause(100*time.Millisecond, ttl+time.Second)
	t.server.Signal(syscall.SIGCONT)
	return nil
}

func (t *Torments) reload() error {
	t.server.Signal(syscall.SIGHUP)
	return nil
}

func (t *Torments) swallow() error {
	for _, proxy := range t.proxies {
		proxy.Swallows.Store(int64(50 + t.random.Intn(250)))
	}
	t.pause(time.Second, 3*time.Second)
	for _, proxy := range t.proxies {
		proxy.Swallows.Store(0)
	}
	return nil
}

func (t *Torments) slow() error {
	for _, proxy := range t.proxies {
		proxy.Slow.Store(int64(20 + t.random.Intn(400)))
	}
	t.pause(time.Second, 3*time.Second)
	for _, proxy := range t.proxies {
		proxy.Slow.Store(0)
	}
	return nil
}

func (t *Torments) cut() error {
	for i := 0; i < 3; i++ {
		for _, proxy := range t.proxies {
			proxy.Cut()
		}
		t.pause(50*time.Millisecond, 500*time.Millisecond)
	}
	return nil
}

// fillDisk fills the small file system of the server's data, and empties it again.
func (t *Torments) fillDisk() error {
	if t.server.smallDisk == "" {
		return nil
	}
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
	return os.Remove(ballast)
}
