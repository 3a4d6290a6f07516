package torment

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
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

	mutex   sync.Mutex
	process *exec.Cmd
	ended   chan struct{}
}

// NewServer prepares a server in a folder that exists and is empty.
func NewServer(program, folder string, options []string) (*Server, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	s := &Server{program: program, folder: folder, data: filepath.Join(folder, "data"), options: options,
		Doors: Doors{ports[0], ports[1], ports[2], ports[3]}}
	for name, secret := range map[string]string{"token": token, "admin-token": adminToken} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(secret+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	return s, os.MkdirAll(s.data, 0o700)
}

func freePorts(count int) ([]string, error) {
	var addresses []string
	for i := 0; i < count; i++ {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// MakeDiskSmall puts the data onto a small file system, if that is permitted, and says so if not. Only the server sees it, in a mount
// namespace of its own: it is gone with the referee, however that ends.
func (s *Server) MakeDiskSmall(out io.Writer) {
	var thread int
	err := inKeeper(func() error {
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

// Kill ends the process if it still runs.
func (s *Server) Kill() {
	if s.process != nil && s.IsAlive() {
		_ = s.End(syscall.SIGKILL)
	}
}

// Start returns when the server answers.
func (s *Server) Start(more ...string) error {
	arguments := []string{"serve", "--data", s.data, "--http", s.Doors.HTTP, "--dflockd", s.Doors.Dflockd, "--redis", s.Doors.Redis,
		"--files", s.Doors.Files, "--files-root", filepath.Join(s.folder, "files"),
		"--auth-token-file", filepath.Join(s.folder, "token"), "--admin-token-file", filepath.Join(s.folder, "admin-token"),
		"--grace", grace.String(), "--log-format", "text"}
	command := exec.Command(s.program, append(append(arguments, s.options...), more...)...)
	log, err := os.OpenFile(filepath.Join(s.folder, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	// The server ends with the referee, however that ends.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := inKeeper(command.Start); err != nil {
		return err
	}
	s.mutex.Lock()
	s.process, s.ended = command, make(chan struct{})
	ended := s.ended
	s.mutex.Unlock()
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	return s.untilReady(20 * time.Second)
}

var keeper struct {
	once sync.Once
	work chan func()
}

// inKeeper runs `start` in a thread that never ends: the signal that a child gets at the end of its parent is really one for the end
// of the thread that started it.
func inKeeper(start func() error) error {
	keeper.once.Do(func() {
		keeper.work = make(chan func())
		go func() {
			runtime.LockOSThread()
			for work := range keeper.work {
				work()
			}
		}()
	})
	result := make(chan error)
	keeper.work <- func() { result <- start() }
	return <-result
}

func (s *Server) untilReady(most time.Duration) error {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.ended:
			return fmt.Errorf("the server has ended: %s", s.lastWords())
		default:
		}
		wire := newWire(s.Doors.HTTP)
		answer, err := wire.ask("GET", "/readyz", token, nil, time.Second)
		wire.close()
		if err == nil && answer.status == 200 {
			return nil
		}
	}
	return fmt.Errorf("the server is not ready: %s", s.lastWords())
}

func (s *Server) lastWords() string {
	log, _ := os.ReadFile(filepath.Join(s.folder, "server.log"))
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return strings.Join(lines, "\n")
}

// IsAlive is false if the process has ended by itself.
func (s *Server) IsAlive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process.
func (s *Server) Signal(signal syscall.Signal) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.process != nil {
		_ = s.process.Process.Signal(signal)
	}
}

// End sends a signal and waits until the process has ended.
func (s *Server) End(signal syscall.Signal) error {
	s.Signal(signal)
	select {
	case <-s.ended:
		return nil
	case <-time.After(30 * time.Second):
		s.Signal(syscall.SIGKILL)
		<-s.ended
		return fmt.Errorf("the server did not end within 30 s of %v", signal)
	}
}
