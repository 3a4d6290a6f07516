// Package process starts programs that end with the referee, however that ends.
package process

import (
	"fmt"
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

// Process is one start of a program.
type Process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// Start starts a command whose output is appended to a file.
func Start(command *exec.Cmd, log string) (*Process, error) { return StartWith(command, nil, log) }

// StartWith starts a command whose output goes to a file, and what it says of errors to another one.
func StartWith(command *exec.Cmd, output *os.File, log string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	command.Stdout, command.Stderr = file, file
	if output != nil {
		command.Stdout = output
	}
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := InKeeper(command.Start); err != nil {
		return nil, err
	}
	p := &Process{command: command, log: log, ended: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// IsAlive is false if the process has ended.
func (p *Process) IsAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ID of the process.
func (p *Process) ID() int { return p.command.Process.Pid }

// Signal sends a signal to the process.
func (p *Process) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// End sends a signal and waits until the process has ended.
func (p *Process) End(signal syscall.Signal) error {
	p.Signal(signal)
	select {
	case <-p.ended:
		return nil
	case <-time.After(30 * time.Second):
		p.Kill()
		return fmt.Errorf("%s did not end within 30 s of %v", filepath.Base(p.command.Path), signal)
	}
}

// Kill ends the process, also one that is stopped or has ended already.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// LastWords are the last lines of the output.
func (p *Process) LastWords() string {
	log, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return strings.Join(lines, "\n")
}

// Until asks again and again, until the process is ready, has ended, or 30 seconds are over.
func (p *Process) Until(isReady func() bool) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !p.IsAlive() {
			return fmt.Errorf("%s has ended: %s", filepath.Base(p.command.Path), p.LastWords())
		}
		if isReady() {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready: %s", filepath.Base(p.command.Path), p.LastWords())
}

// FreePorts are addresses on loopback on which nobody listens.
func FreePorts(count int) ([]string, error) {
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

var keeper struct {
	once sync.Once
	work chan func()
}

// InKeeper runs `start` in a thread that never ends: the signal that a child gets at the end of its parent is really one for the end
// of the thread that started it.
func InKeeper(start func() error) error {
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
