// Package lockset measures how many additions to a set are lost that ten clients make under a lock, while they are paused for longer
// than their leases last. docs/correctness.md explains it. The systems are Holdfast and three others.
package lockset

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/tests/referee/process"
)

// Settings of a run of all tests.
type Settings struct {
	Holdfast  string // the server
	Folder    string // for everything that is written
	Seed      int64  // decides who is paused when; the same for all systems
	Runs      int    // of each row of the table
	Additions int    // until a run is over
	Kills     int    // of a holder or a leader, in each system
	Only      string // the only system; empty: all
	Table     string // the only table: losses, times or leader; empty: all
	Out       io.Writer
}

const (
	clients     = 10
	pause       = 3 * time.Second
	pauseEvery  = 5 * time.Second
	work        = 50 * time.Millisecond // between a read and the write that follows
	calmWork    = 5 * time.Millisecond
	calmTurns   = 500
	longestTest = 10 * time.Minute
)

// row of the table of losses. A fence needs numbers that grow; Redis and PostgreSQL give none.
type row struct {
	title    string
	system   string
	client   string
	hasFence bool
}

var rows = []row{
	{"Redis, `SET NX PX`", "redis", "redis", false},
	{"PostgreSQL, advisory lock", "postgresql", "postgresql", false},
	{"etcd, its lock", "etcd", "etcd", false},
	{"etcd, its lock, and the revision of the lock's key as a fence", "etcd", "etcd with numbers", true},
	{"Holdfast, without a fence", "holdfast", "holdfast", false},
	{"Holdfast, with the fence", "holdfast", "holdfast", true},
}

// Run prints the tables as Markdown. A system that is not installed is named. It is an error if Holdfast's fence lets an addition be
// lost.
func Run(settings Settings) error {
	if settings.Table == "" || settings.Table == "losses" {
		fmt.Fprintf(settings.Out, "| | additions lost, of %d | writes that the fence refused |\n|---|--:|--:|\n", settings.Additions)
		for _, one := range rows {
			one := one
			if err := settings.try(one.system, one.title, func() error { return printLosses(settings, one) }); err != nil {
				return err
			}
		}
	}
	if settings.Table == "" || settings.Table == "times" {
		fmt.Fprint(settings.Out, "\n| | release to grant, ms: median, 99 % | holder killed, next grant after s: median, longest |\n|---|--:|--:|\n")
		for _, system := range []string{"redis", "postgresql", "etcd", "holdfast"} {
			system := system
			if err := settings.try(system, system, func() error { return printTimes(settings, system) }); err != nil {
				return err
			}
		}
	}
	if settings.Table == "" || settings.Table == "leader" {
		fmt.Fprint(settings.Out, "\n| | leader killed, without service for s: median, longest |\n|---|--:|\n")
		for _, system := range []string{"etcd", "holdfast"} {
			system := system
			if err := settings.try(system, system, func() error { return printWithoutService(settings, system) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// try prints one line, or names what is missing for it.
func (s *Settings) try(system, title string, print func() error) error {
	if s.Only != "" && s.Only != system {
		return nil
	}
	err := print()
	var missing errMissing
	if errors.As(err, &missing) {
		fmt.Fprintf(s.Out, "*** %s is left out: %v ***\n", title, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	return nil
}

func printLosses(settings Settings, one row) error {
	var lost, refused []string
	for run := 0; run < settings.Runs; run++ {
		l, r, err := losses(settings, one, settings.Seed+int64(run))
		if err != nil {
			return err
		}
		if l > 0 && one.system == "holdfast" && one.hasFence {
			return fmt.Errorf("%d additions were lost in spite of the fence", l)
		}
		lost, refused = append(lost, strconv.Itoa(l)), append(refused, strconv.Itoa(r))
	}
	if !one.hasFence {
		refused = nil
	}
	fmt.Fprintf(settings.Out, "| %s | %s | %s |\n", one.title, strings.Join(lost, ", "), strings.Join(refused, ", "))
	return nil
}

func printTimes(settings Settings, system string) error {
	handover, err := handovers(settings, system)
	if err != nil {
		return err
	}
	killed, err := afterKills(settings, system)
	if err != nil {
		return err
	}
	fmt.Fprintf(settings.Out, "| %s | %.1f, %.1f | %.2f, %.2f |\n", system, at(handover, 50).Seconds()*1000,
		at(handover, 99).Seconds()*1000, at(killed, 50).Seconds(), at(killed, 100).Seconds())
	return nil
}

func printWithoutService(settings Settings, system string) error {
	gaps, err := withoutService(settings, system)
	if err == nil {
		fmt.Fprintf(settings.Out, "| %s | %.2f, %.2f |\n", system, at(gaps, 50).Seconds(), at(gaps, 100).Seconds())
	}
	return err
}

// at is a percentile of durations.
func at(durations []time.Duration, percent int) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sort.Slice(durations, func(i, j int) bool { return durations[i] < durations[j] })
	return durations[(len(durations)-1)*percent/100]
}

// world is a system, the storage, and the processes of the clients.
type world struct {
	settings Settings
	client   string // the kind of the clients
	servers  *servers
	storage  *storage
	work     time.Duration

	mutex   sync.Mutex
	clients [clients]*process.Process
}

func newWorld(settings Settings, system, client string, wanted int, hasFence bool, work time.Duration) (*world, error) {
	folder, err := os.MkdirTemp(settings.Folder, system+"-")
	if err != nil {
		return nil, err
	}
	started, err := start(system, settings.Holdfast, folder)
	if err != nil {
		return nil, err
	}
	return newWorldOf(settings, client, started, wanted, hasFence, work)
}

// newWorldOf servers that run already. They end with the world.
func newWorldOf(settings Settings, client string, started *servers, wanted int, hasFence bool, work time.Duration) (*world, error) {
	w := &world{settings: settings, client: client, servers: started, work: work}
	var err error
	if w.storage, err = newStorage(wanted, hasFence); err != nil {
		w.servers.end()
		return nil, err
	}
	for number := range w.clients {
		if err := w.startClient(number); err != nil {
			w.end()
			return nil, err
		}
	}
	return w, nil
}

func (w *world) startClient(number int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, "lock-set-client", w.client, strings.Join(w.servers.addresses, ","), w.storage.address(),
		strconv.Itoa(number), w.work.String())
	started, err := process.Start(command, filepath.Join(w.settings.Folder, "clients.log"))
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.clients[number] = started
	return err
}

func (w *world) process(number int) *process.Process {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.clients[number]
}

func (w *world) end() {
	for number := range w.clients {
		if one := w.process(number); one != nil {
			one.Kill()
		}
	}
	w.storage.close()
	w.servers.end()
}

// untilOver waits for the last addition.
func (w *world) untilOver() error {
	select {
	case <-w.storage.over:
		return nil
	case <-time.After(longestTest):
		return fmt.Errorf("%d additions in %s", len(w.storage.grantsSince(time.Time{})), longestTest)
	}
}

// losses makes additions while clients are paused, and counts those that are lost.
func losses(settings Settings, one row, seed int64) (lost, refused int, err error) {
	w, err := newWorld(settings, one.system, one.client, settings.Additions, one.hasFence, work)
	if err != nil {
		return 0, 0, err
	}
	defer w.end()
	random := rand.New(rand.NewSource(seed))
	isOver := make(chan struct{})
	var pauses sync.WaitGroup
	pauses.Add(1)
	go func() {
		defer pauses.Done()
		w.pauseClients(random, isOver)
	}()
	err = w.untilOver()
	close(isOver)
	pauses.Wait()
	return w.storage.lost(), w.storage.refused, err
}

// pauseClients stops a client every five seconds, for three seconds. A session that has no TTL is ended after that time.
func (w *world) pauseClients(random *rand.Rand, isOver chan struct{}) {
	var pauses sync.WaitGroup
	defer pauses.Wait()
	isPaused := [clients]bool{}
	for turn := 0; ; turn++ {
		select {
		case <-isOver:
			return
		case <-time.After(pauseEvery):
		}
		number := random.Intn(clients)
		w.mutex.Lock()
		wasPaused := isPaused[number]
		isPaused[number] = true
		w.mutex.Unlock()
		if wasPaused {
			continue
		}
		pauses.Add(1)
		go func() {
			defer pauses.Done()
			w.process(number).Signal(syscall.SIGSTOP)
			time.Sleep(ttl)
			if w.servers.endSession != nil {
				w.servers.endSession(number)
			}
			time.Sleep(pause - ttl)
			w.process(number).Signal(syscall.SIGCONT)
			w.mutex.Lock()
			isPaused[number] = false
			w.mutex.Unlock()
		}()
	}
}

// handovers are the times from release to grant while ten clients want the lock and nothing goes wrong.
func handovers(settings Settings, system string) ([]time.Duration, error) {
	w, err := newWorld(settings, system, system, calmTurns, false, calmWork)
	if err != nil {
		return nil, err
	}
	defer w.end()
	if err := w.untilOver(); err != nil {
		return nil, err
	}
	var times []time.Duration
	for _, one := range w.storage.grantsSince(time.Time{}) {
		if one.sinceRelease >= 0 {
			times = append(times, one.sinceRelease)
		}
	}
	return times, nil
}

// afterKills are the times from a kill -9 of the process that holds the lock until another process has it.
func afterKills(settings Settings, system string) ([]time.Duration, error) {
	w, err := newWorld(settings, system, system, 1<<30, false, work)
	if err != nil {
		return nil, err
	}
	defer w.end()
	holders := make(chan int)
	w.storage.reading = func(client int) {
		select {
		case holders <- client:
		default:
		}
	}
	var times []time.Duration
	for len(times) < settings.Kills {
		time.Sleep(time.Second)
		holder := <-holders
		killed := time.Now()
		w.process(holder).Kill()
		var next []grant
		for end := killed.Add(30 * time.Second); len(next) == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				return nil, fmt.Errorf("no grant within 30 s after a kill")
			}
			next = w.storage.grantsSince(killed)
		}
		times = append(times, next[0].at.Sub(killed))
		if err := w.startClient(holder); err != nil {
			return nil, err
		}
	}
	return times, nil
}
