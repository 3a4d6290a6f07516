package torment

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"holdfast/tests/referee/preload"
	"holdfast/tests/referee/process"
)

const (
	token      = "the-token-of-a-run-of-the-referee"
	adminToken = "the-admin-token-of-a-run-of-the-referee"
	grace      = 500 * time.Millisecond
)

// Doors are the addresses of a server.
type Doors struct {
	HTTP, Dflockd, Redis, Files string
}

// Server is one process of the real program on a folder of its own. It is started again at the same addresses.
type Server struct {
	program string
	folder  string
	data    string // on a small file system, where that is permitted
	Doors   Doors
	options []string
	// smallDisk is where the file system of the data is seen from here, if it has one of its own that can be filled.
	smallDisk string
	library   *preload.Library // nil where it cannot be built

	process *process.Process
}

// NewServer prepares a server in a folder that exists and is empty.
func NewServer(program, folder string, options []string) (*Server, error) {
	ports, err := process.FreePorts(4)
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	s := &Server{program: program, folder: folder, data: filepath.Join(folder, "data"), options: options,
		Doors: Doors{ports[0], ports[1], ports[2], ports[3]}}
	if err := writeSecrets(folder); err != nil {
		return nil, err
	}
	return s, os.MkdirAll(s.data, 0o700)
}

// LoadLibrary has the disk and the clock of the server fail when they are told to, if there is a C compiler, and says so if not.
func (s *Server) LoadLibrary(out io.Writer) {
	folder := filepath.Join(s.folder, "preload")
	err := os.Mkdir(folder, 0o700)
	if err == nil {
		s.library, err = preload.Build(folder)
	}
	if err != nil {
		fmt.Fprintf(out, "*** no write fails and no clock is set: %v ***\n", err)
	}
}

// MakeDiskSmall puts the data onto a small file system, if that is permitted, and says so if not. Only the server sees it, in a mount
// namespace of its own: it is gone with the referee, however that ends.
func (s *Server) MakeDiskSmall(out io.Writer) {
	var thread int
	err := process.InKeeper(func() error {
		thread = syscall.Gettid()
		if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
			return err
		}
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			return err
		}
		return syscall.Mount("referee", s.data, "tmpfs", 0, "size=64m,mode=700")
	})
	if err != nil {
		fmt.Fprintf(out, "*** the disk will not be full: a small file system needs the rights of root: %v ***\n", err)
		return
	}
	s.smallDisk = fmt.Sprintf("/proc/self/task/%d/root%s", thread, s.data)
}

func (s *Server) doors() []Doors { return []Doors{s.Doors} }

func (s *Server) clientsPerDoor() int { return 4 }

func (s *Server) patience() time.Duration { return time.Minute }

func (s *Server) check() error {
	if s.process.IsAlive() {
		return nil
	}
	return fmt.Errorf("the server has ended by itself: %s", s.process.LastWords())
}

func (s *Server) end() error { return s.End(syscall.SIGTERM) }

func (s *Server) kill() {
	if s.process != nil {
		s.process.Kill()
	}
}

// Start returns when the server answers.
func (s *Server) Start(more ...string) error {
	arguments := []string{"serve", "--data", s.data, "--http", s.Doors.HTTP, "--dflockd", s.Doors.Dflockd, "--redis", s.Doors.Redis,
		"--files", s.Doors.Files, "--files-root", filepath.Join(s.folder, "files"),
		"--grace", grace.String(), "--log-format", "text"}
	arguments = append(arguments, secrets(s.folder)...)
	command := exec.Command(s.program, append(append(arguments, s.options...), more...)...)
	if s.library != nil {
		command.Env = s.library.Environment(s.data, "")
	}
	started, err := process.Start(command, filepath.Join(s.folder, "server.log"))
	if err != nil {
		return err
	}
	s.process = started
	return started.Until(s.isReady)
}

func (s *Server) isReady() bool {
	wire := newWire(s.Doors.HTTP)
	defer wire.close()
	answer, err := wire.ask("GET", "/readyz", token, nil, time.Second)
	return err == nil && answer.status == 200
}

// Signal sends a signal to the process.
func (s *Server) Signal(signal syscall.Signal) { s.process.Signal(signal) }

// End sends a signal and waits until the process has ended.
func (s *Server) End(signal syscall.Signal) error { return s.process.End(signal) }
