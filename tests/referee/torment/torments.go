package torment

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
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
	return append(b.links(),
		torment{"killed and started again", t.kill},
		torment{"stopped and started again", t.restart},
		torment{"stands still", t.standStill},
		torment{"reads its files again", t.reload},
		torment{"rights are taken away and given back", t.takeRights},
		torment{"the secret of the clients is changed and changed back", t.changeSecret},
		torment{"fewer leases are allowed than there are", t.lowerLimits},
		torment{"the disk is full", t.fillDisk},
		torment{"killed twice", t.killTwice})
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

// takeRights: what is held stays, and nobody may do more than the file says.
func (t *ofServer) takeRights() error {
	rights := []string{"read *", "lock nobody-uses-this", "lock * @http", "lock * @files,redis,dflockd", "lock n* semaphore:s* read *"}
	return t.withTokens(rights[t.random.Intn(len(rights))], token)
}

func (t *ofServer) changeSecret() error {
	return t.withTokens("lock *", "another-secret-of-a-run-of-the-referee")
}

func (t *ofServer) withTokens(rights, secret string) error {
	t.run.lacksRights.Store(true)
	if err := t.server.writeTokens(rights, secret); err != nil {
		return err
	}
	t.server.Signal(syscall.SIGHUP)
	t.pause(300*time.Millisecond, ttl+time.Second)
	if err := t.server.writeTokens("lock *", token); err != nil {
		return err
	}
	t.server.Signal(syscall.SIGHUP)
	if err := t.server.process.Until(t.server.isReady); err != nil {
		return err
	}
	t.pause(patience, patience) // requests that were under way have been answered
	t.run.lacksRights.Store(false)
	return nil
}

// writeTokens writes the file with the rights of the clients' token. It is replaced as a whole: the server may read it at any time.
func (s *Server) writeTokens(rights, secret string) error {
	line := fmt.Sprintf("clients %s sha256:%x\n", rights, sha256.Sum256([]byte(secret)))
	if err := os.WriteFile(s.tokens()+".new", []byte(line), 0o600); err != nil {
		return err
	}
	return os.Rename(s.tokens()+".new", s.tokens())
}

func (s *Server) tokens() string { return filepath.Join(s.folder, "tokens") }

// fillDisk fills the small file system of the server's data, and empties it again.
func (t *ofServer) fillDisk() error {
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
