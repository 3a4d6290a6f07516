// Package soak lets clients come and go at one server for a long time, and looks whether anything of them stays: memory, descriptors,
// threads.
package soak

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/tests/referee/process"
)

// Settings of a run.
type Settings struct {
	Program     string // the server
	Folder      string // for its data and log; empty
	Lasts       time.Duration
	Connections int // open at once, beside those at work
	Out         io.Writer
}

const (
	workers = 32
	calm    = 4 * time.Second // after this, no lease is left: they last a second
	// A server without clients has no more than these.
	descriptorsAtRest = 60
)

// usage is what a process has.
type usage struct {
	memory      int // resident, in KiB
	descriptors int
	threads     int
}

func (u usage) String() string {
	return fmt.Sprintf("%d KiB, %d descriptors, %d threads", u.memory, u.descriptors, u.threads)
}

func usageOf(process int) (usage, error) {
	folder := fmt.Sprintf("/proc/%d", process)
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return usage{}, err
	}
	var u usage
	for _, line := range strings.Split(string(status), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "VmRSS:" {
			u.memory, _ = strconv.Atoi(words[1])
		}
	}
	for name, count := range map[string]*int{"fd": &u.descriptors, "task": &u.threads} {
		entries, err := os.ReadDir(filepath.Join(folder, name))
		if err != nil {
			return usage{}, err
		}
		*count = len(entries)
	}
	return u, nil
}

// isMore says what a process has too much of at the end, compared with the same calm after the first round. Memory may grow by a
// quarter and 48 MiB: an allocator keeps what it has seen once, and the server remembers 100 000 ids of requests for ten minutes.
func (u usage) isMore(first usage) string {
	switch {
	case u.descriptors > first.descriptors+2:
		return "descriptors"
	case u.threads > first.threads:
		return "threads"
	case u.memory > first.memory*5/4+48*1024:
		return "memory"
	}
	return ""
}

type soak struct {
	Settings
	http, dflockd, redis string
	done                 atomic.Int64
	names                atomic.Int64
}

// Run returns an error if something stays.
func Run(settings Settings) error {
	addresses, err := process.FreePorts(3)
	if err != nil {
		return err
	}
	s := &soak{Settings: settings, http: addresses[0], dflockd: addresses[1], redis: addresses[2]}
	server, err := process.Start(exec.Command(settings.Program, "serve", "--data", filepath.Join(settings.Folder, "data"), "--http", s.http,
		"--dflockd", s.dflockd, "--redis", s.redis, "--history-max", "1000", "--log-level", "warning", "--log-format", "text",
		"--threads", "2"), filepath.Join(settings.Folder, "server.log"))
	if err != nil {
		return err
	}
	defer server.Kill()
	if err := server.Until(func() bool { _, err := s.ask("GET", "/readyz", "", time.Second); return err == nil }); err != nil {
		return err
	}
	var first, last usage
	rounds := 5
	for round := 0; round < rounds; round++ {
		s.work(settings.Lasts/time.Duration(rounds) - calm)
		time.Sleep(calm)
		// A slow machine may need longer to close them all.
		for tries := 0; ; tries++ {
			if !server.IsAlive() {
				return fmt.Errorf("the server has ended by itself: %s", server.LastWords())
			}
			if last, err = usageOf(server.ID()); err != nil {
				return err
			}
			isOpen := round == 0 && last.descriptors > descriptorsAtRest || round > 0 && last.isMore(first) != ""
			if tries == 30 || !isOpen {
				break
			}
			time.Sleep(time.Second)
		}
		if round == 0 {
			first = last
		}
		fmt.Fprintf(settings.Out, "after %d requests: %s\n", s.done.Load(), last)
	}
	if what := last.isMore(first); what != "" {
		return fmt.Errorf("%s: %s after the first round, and %s at the end", what, first, last)
	}
	return server.End(syscall.SIGTERM)
}

// work lets clients come and go, and returns when the last is gone.
func (s *soak) work(lasts time.Duration) {
	if lasts < time.Second {
		lasts = time.Second
	}
	end := time.Now().Add(lasts)
	var idle []net.Conn
	var group sync.WaitGroup
	for number := 0; number < workers; number++ {
		random := rand.New(rand.NewSource(int64(number)))
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				s.one(random)
			}
		}()
	}
	for i := 0; i < s.Connections && time.Now().Before(end); i++ {
		address := []string{s.http, s.dflockd, s.redis}[i%3]
		if connection, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			idle = append(idle, connection)
		}
	}
	group.Wait()
	for _, connection := range idle {
		_ = connection.Close()
	}
}

// one client: it connects, does one thing, and is gone.
func (s *soak) one(random *rand.Rand) {
	s.done.Add(1)
	name := fmt.Sprint("soak-", s.names.Add(1))
	switch random.Intn(6) {
	case 0: // a lease that nobody releases
		_, _ = s.ask("POST", "/v1/leases", fmt.Sprintf(`{"scope":%q,"holder":%q,"ttl_ms":1000,"request_id":%q}`, name, name, name), time.Second)
	case 1: // a wait that is given up
		busy := fmt.Sprint("busy-", random.Intn(8))
		_, _ = s.ask("POST", "/v1/leases", fmt.Sprintf(`{"scope":%q,"holder":%q,"ttl_ms":1000}`, busy, name), time.Second)
		_, _ = s.ask("POST", "/v1/leases", fmt.Sprintf(`{"scope":%q,"holder":"w-%s","ttl_ms":1000,"wait_ms":60000}`, busy, name),
			time.Duration(1+random.Intn(50))*time.Millisecond)
	case 2:
		_, _ = s.ask("POST", "/lock?ttl=1s&client="+name+"&job="+name, "", time.Second)
		_, _ = s.ask("DELETE", "/lock?client="+name+"&job="+name, "", time.Second)
	case 3: // a session that ends with its lock, or while it waits
		s.say(s.dflockd, "l\n"+name+"\n0 1\n", true)
		s.say(s.dflockd, fmt.Sprintf("l\nbusy-%d\n30 1\n", random.Intn(8)), false)
	case 4:
		s.say(s.redis, fmt.Sprintf("*6\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nv\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n1000\r\n", len(name), name), true)
	case 5: // an upload and a stream that break off
		s.say(s.http, "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", false)
		s.say(s.http, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n", true)
	}
}

// say sends something on a connection of its own, reads a line of an answer or does not, and closes it.
func (s *soak) say(address, text string, reads bool) {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(connection, text); err == nil && reads {
		_, _ = bufio.NewReader(connection).ReadString('\n')
	}
}

func (s *soak) ask(method, path, body string, patience time.Duration) (int, error) {
	patient, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	request, err := http.NewRequestWithContext(patient, method, "http://"+s.http+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Close = true
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, nil
}
