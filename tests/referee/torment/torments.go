package torment

import (
	"strconv"
	"syscall"
	"time"
)

// ofServer is what goes wrong with one server.
type ofServer struct {
	*bench
	server *Server
}

func (s *Server) torments(b *bench) []torment {
	t := &ofServer{b, s}
	torments := append(append(b.links(), b.rights(s.folder, s.Signal)...), t.disk()...)
	return append(torments,
		torment{name: "killed and started again", do: t.kill},
		torment{name: "stopped and started again", do: t.restart},
		torment{name: "stands still", do: t.standStill},
		torment{name: "reads its files again", do: t.reload},
		torment{name: "fewer leases are allowed than there are", do: t.lowerLimits},
		torment{name: "killed twice", do: t.killTwice})
}

// options of a start: other threads, and other limits that no client of a run reaches.
func (t *ofServer) options() []string {
	return []string{"--threads", strconv.Itoa(1 + t.random.Intn(3)), "--leases-max", strconv.Itoa(5000 + t.random.Intn(5000))}
}

func (t *ofServer) kill() error {
	t.run.recorder.Note("restart")
	if err := t.server.End(syscall.SIGKILL); err != nil {
		return err
	}
	t.pause(0, 1500*time.Millisecond)
	return t.server.Start(t.options()...)
}

func (t *ofServer) killTwice() error {
	if err := t.kill(); err != nil {
		return err
	}
	t.pause(0, 300*time.Millisecond)
	return t.kill()
}

func (t *ofServer) restart() error { return t.restartWith(t.options()...) }

func (t *ofServer) restartWith(options ...string) error {
	t.run.recorder.Note("restart")
	if err := t.server.End(syscall.SIGTERM); err != nil {
		return err
	}
	t.run.recorder.Note("restart")
	return t.server.Start(options...)
}

// lowerLimits: what is held and remembered stays, and nothing is added, until there is room.
func (t *ofServer) lowerLimits() error {
	err := t.restartWith("--leases-max", strconv.Itoa(1+t.random.Intn(6)), "--fences-max", strconv.Itoa(1+t.random.Intn(2)),
		"--dflockd-max-locks", "1", "--dflockd-max-waiters", "1")
	if err != nil {
		return err
	}
	t.pause(time.Second, ttl+time.Second)
	return t.restart()
}

func (t *ofServer) standStill() error {
	t.server.Signal(syscall.SIGSTOP)
	t.pause(100*time.Millisecond, ttl+time.Second)
	t.server.Signal(syscall.SIGCONT)
	return nil
}

func (t *ofServer) reload() error {
	t.server.Signal(syscall.SIGHUP)
	return nil
}
