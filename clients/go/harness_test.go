package holdfast_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "holdfast/clients/go"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

var program = os.Getenv("HOLDFAST")

func TestMain(m *testing.M) {
	if url := os.Getenv("LEADER_OF"); url != "" {
		leadUntilKilled(url)
		return
	}
	if program == "" {
		fmt.Fprintln(os.Stderr, "the environment variable HOLDFAST must be the path of the server: "+
			"HOLDFAST=/usr/bin/holdfast go test ./...")
		os.Exit(1)
	}
	for _, name := range []string{"SERVER", "TOKEN", "TOKEN_FILE", "CA_FILE"} {
		os.Unsetenv("HOLDFAST_" + name)
	}
	os.Exit(runWithServer(m))
}

// leadUntilKilled is a process of its own: it leads with the value "one", then with "two" when it is told
// to.
func leadUntilKilled(url string) {
	ctx := context.Background()
	client, err := holdfast.New(holdfast.Options{Servers: []string{url}})
	if err != nil {
		log.Fatal(err)
	}
	leadership, err := client.Campaign(ctx, holdfast.Candidacy{
		Election: "boss", Candidate: "ann", Value: "one", TTL: 3 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := leadership.SetValue(ctx, "two"); err != nil {
		log.Fatal(err)
	}
	time.Sleep(patience)
}

// runWithServer runs the tests. The Examples use the server of the environment.
func runWithServer(m *testing.M) int {
	folder, err := os.MkdirTemp("", "holdfast-go-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	s := &server{folder: folder, scheme: "http"}
	defer s.kill()
	if err := s.begin(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOLDFAST_SERVER", s.url())
	return m.Run()
}

// server is `holdfast serve` on a free port. What it holds survives a restart.
type server struct {
	folder string
	flags  []string
	scheme string

	mutex   sync.Mutex
	process *exec.Cmd
	host    string // and port
}

func startServer(t testing.TB, flags ...string) *server {
	return startServerOf(t, "http", flags...)
}

func startServerOf(t testing.TB, scheme string, flags ...string) *server {
	t.Helper()
	folder, err := os.MkdirTemp("", "holdfast-go-")
	must(t, err)
	s := &server{folder: folder, scheme: scheme, flags: flags}
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(folder)
	})
	must(t, s.begin())
	return s
}

func (s *server) begin() error {
	arguments := append([]string{"serve", "--http", "127.0.0.1:0", "--dflockd", "none", "--log-level", "off",
		"--data", filepath.Join(s.folder, "data")}, s.flags...)
	process := exec.Command(program, arguments...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	host := strings.TrimPrefix(strings.TrimSpace(line), "listening "+s.scheme+" ")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.process, s.host = process, host
	if err != nil || !strings.HasPrefix(line, "listening ") {
		return fmt.Errorf("the server said %q: %v", line, err)
	}
	return nil
}

func (s *server) kill() {
	s.mutex.Lock()
	process := s.process
	s.mutex.Unlock()
	if process != nil && process.ProcessState == nil {
		process.Process.Kill()
		process.Wait()
	}
}

func (s *server) restart(t testing.TB) {
	t.Helper()
	s.kill()
	must(t, s.begin())
}

func (s *server) address() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.host
}

func (s *server) url() string { return s.scheme + "://" + s.address() }

// proxy stands before a server, at an address that stays the same, and loses the answers that it is
// told to lose.
type proxy struct {
	server   *server
	listener net.Listener

	mutex    sync.Mutex
	toLose   int
	isSilent bool
	isCut    bool
	lost     int
	open     map[net.Conn]bool
}

func startProxy(t testing.TB, s *server) *proxy {
	return startProxyAt(t, s, "tcp", "127.0.0.1:0")
}

func startProxyAt(t testing.TB, s *server, network, address string) *proxy {
	t.Helper()
	listener, err := net.Listen(network, address)
	must(t, err)
	p := &proxy{server: s, listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// loseAnswers loses so many answers of the server. The client's connection breaks then, or the client
// hears nothing.
func (p *proxy) loseAnswers(count int, isSilent bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.toLose, p.isSilent = count, isSilent
}

func (p *proxy) lostAnswers() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.lost
}

// cut breaks all connections, and lets none in before heal.
func (p *proxy) cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.isCut = true
	for connection := range p.open {
		connection.Close()
	}
}

func (p *proxy) heal() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.isCut = false
}

// admit remembers an open connection, unless there must be none.
func (p *proxy) admit(connection net.Conn) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.isCut {
		connection.Close()
		return false
	}
	p.open[connection] = true
	return true
}

func (p *proxy) serve(client net.Conn) {
	if !p.admit(client) {
		return
	}
	upstream, err := net.Dial("tcp", p.server.address())
	if err != nil || !p.admit(upstream) {
		client.Close()
		return
	}
	go p.pass(client, upstream, func() bool { return true })
	p.pass(upstream, client, p.mayPass)
}

// mayPass is false if this answer is to be lost.
func (p *proxy) mayPass() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.toLose == 0 {
		return true
	}
	p.toLose--
	p.lost++
	return false
}

// pass copies until an end is closed. (Each answer of the server is one piece.)
func (p *proxy) pass(from, to net.Conn, mayPass func() bool) {
	buffer := make([]byte, 1<<16)
	for {
		size, err := from.Read(buffer)
		if size > 0 && mayPass() {
			_, err = to.Write(buffer[:size])
		} else if size > 0 && !p.isQuiet() {
			break
		}
		if err != nil {
			break
		}
	}
	from.Close()
	to.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.open, from)
	delete(p.open, to)
}

func (p *proxy) isQuiet() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.isSilent
}

// connect makes a client.
func connect(t testing.TB, servers string, change ...func(*holdfast.Options)) *holdfast.Client {
	t.Helper()
	options := holdfast.Options{Servers: []string{servers}}
	for _, each := range change {
		each(&options)
	}
	client, err := holdfast.New(options)
	must(t, err)
	t.Cleanup(client.Close)
	return client
}

func named(owner string) func(*holdfast.Options) {
	return func(options *holdfast.Options) { options.Owner = owner }
}

func brief(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustBe fails unless err is of that kind.
func mustBe(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v is not '%v'", err, kind)
	}
}

func until(t testing.TB, what string, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited until %s", what)
		}
	}
}

// leases are all that the server shows.
func leases(t testing.TB, client *holdfast.Client) []holdfast.LeaseInfo {
	t.Helper()
	var all []holdfast.LeaseInfo
	must(t, client.Leases(brief(t), holdfast.LeaseFilter{}, func(info holdfast.LeaseInfo) error {
		all = append(all, info)
		return nil
	}))
	return all
}
