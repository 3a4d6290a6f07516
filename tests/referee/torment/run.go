// Package torment runs clients of every door against a real server, makes everything go wrong that can, and records what the clients
// were told.
package torment

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/tests/referee/history"
)

// Settings of a run.
type Settings struct {
	Program     string        // the server
	CppRecorder string        // the recorder of the SDK for C++; empty: there is none
	Cluster     bool          // three nodes and three members of etcd, instead of one server
	Folder      string        // for everything that is written; empty
	Seed        int64         // decides what goes wrong and what clients do, but not the machine's own order
	Lasts       time.Duration // of the torments; longer if not each of them had its turn by then
	Only        string        // the only torments, with a semicolon between their names; empty: all of them, then any at random
	Some        int           // only so many of them, chosen by the seed; 0: all
	Calm        bool          // nothing goes wrong
	Out         io.Writer     // what happens, for people
}

// Outcome of a run.
type Outcome struct {
	History *history.History
	Strange []string // answers that no document describes
}

// target is what is tormented: one server, or a cluster.
type target interface {
	// doors of each place at which clients connect.
	doors() []Doors
	// clientsPerDoor of each place: half of them through a proxy, half directly.
	clientsPerDoor() int
	// torments are everything that can go wrong with it, and with the links of the bench.
	torments(*bench) []torment
	// check returns an error if a process has ended by itself.
	check() error
	// patience is how long it may take until every door grants again after a torment.
	patience() time.Duration
	// end ends everything, as an administrator does.
	end() error
	// kill ends everything that still runs.
	kill()
}

// Run returns when everything that it started has ended.
func Run(settings Settings) (*Outcome, error) {
	file, err := os.Create(filepath.Join(settings.Folder, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewWriter(file)
	defer lines.Flush()
	shared := newRun(history.NewRecorder(lines), settings.Seed)
	fmt.Fprintln(settings.Out, shared.kind())
	tormented, err := start(settings, shared)
	if tormented != nil {
		defer tormented.kill()
	}
	if err == nil {
		err = torture(settings, shared, tormented)
	}
	shared.isOver.Store(true)
	recorded, recorderError := shared.recorder.History()
	if err == nil {
		err = recorderError
	}
	return &Outcome{History: recorded, Strange: shared.allStrange()}, err
}

// start may return both an error and what must be killed.
func start(settings Settings, shared *run) (target, error) {
	if settings.Cluster {
		c, err := newCluster(settings, shared)
		if c == nil {
			return nil, err
		}
		return c, err
	}
	s, err := startServer(settings, shared)
	if s == nil {
		return nil, err
	}
	return s, err
}

func startServer(settings Settings, shared *run) (*Server, error) {
	var options []string
	if !shared.endsWithConnection {
		options = []string{"--no-dflockd-auto-release-on-disconnect"}
	}
	server, err := NewServer(settings.Program, settings.Folder, options)
	if err != nil {
		return nil, err
	}
	server.LoadLibrary(settings.Out)
	server.MakeDiskSmall(settings.Out)
	return server, server.Start()
}

func torture(settings Settings, shared *run, tormented target) error {
	random := rand.New(rand.NewSource(settings.Seed))
	var group sync.WaitGroup
	b := &bench{run: shared, random: random}
	defer b.close()
	commands := sdks(settings.Folder, settings.CppRecorder, settings.Out)
	for _, doors := range tormented.doors() {
		through, err := b.addProxies(doors)
		if err != nil {
			return err
		}
		if err := b.startRecorders(commands, settings.Folder, through); err != nil {
			return err
		}
		for number := 0; number < tormented.clientsPerDoor(); number++ {
			if number%2 == 0 {
				b.startClients(through, true, random, &group)
			} else {
				b.startClients(doors, false, random, &group)
			}
		}
	}
	group.Add(1)
	go func() {
		defer group.Done()
		endByForce(shared, tormented.doors()[0].HTTP, rand.New(rand.NewSource(settings.Seed+1)))
	}()
	err := goWrong(settings, b, tormented)
	shared.isOver.Store(true)
	group.Wait()
	if err == nil {
		err = tormented.end()
	}
	return err
}

// goWrong lets each torment have its turn, and then any of them, until the time is over.
func goWrong(settings Settings, b *bench, tormented target) error {
	torments, err := chosen(settings, append(tormented.torments(b), b.clientsFail()...))
	if err != nil {
		return err
	}
	end := time.Now().Add(settings.Lasts)
	for turn := 0; turn < len(torments) || time.Now().Before(end); turn++ {
		b.pause(200*time.Millisecond, 2*time.Second)
		if len(torments) == 0 {
			continue
		}
		chosen := torments[b.random.Intn(len(torments))]
		if turn < len(torments) {
			chosen = torments[turn]
		}
		if err := b.do(chosen, tormented, settings.Out); err != nil {
			return fmt.Errorf("%s: %w", chosen.name, err)
		}
	}
	return nil
}

// do is one torment, after which everything must be served again.
func (b *bench) do(one torment, tormented target, out io.Writer) error {
	began := time.Now()
	fmt.Fprintf(out, "%8.1f s  %s", began.Sub(b.run.start).Seconds(), one.name)
	defer fmt.Fprintln(out)
	b.run.recorder.Note(one.name)
	if err := one.do(); err != nil {
		return err
	}
	isOver := time.Now()
	if err := b.run.isServedAgain(tormented.patience(), tormented.check); err != nil {
		return err
	}
	fmt.Fprintf(out, ": %.1f s, and every door grants again %.1f s after it", isOver.Sub(began).Seconds(), time.Since(isOver).Seconds())
	return nil
}

// isServedAgain returns when each door, at each place, has granted a lease that was asked for after the call.
func (r *run) isServedAgain(patience time.Duration, check func() error) error {
	asked := r.recorder.Now()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := check(); err != nil {
			return err
		}
		missing := r.withoutGrantSince(asked)
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("no new lease was granted within %s at: %s", patience, strings.Join(missing, ", "))
		}
	}
}

func chosen(settings Settings, torments []torment) ([]torment, error) {
	if settings.Calm {
		return nil, nil
	}
	if settings.Only != "" {
		return named(settings.Only, torments)
	}
	var mixed []torment
	for _, one := range torments {
		if !one.isApart {
			mixed = append(mixed, one)
		} else {
			fmt.Fprintf(settings.Out, "left out of the mix: %s\n", one.name)
		}
	}
	if settings.Some > 0 && settings.Some < len(mixed) {
		random := rand.New(rand.NewSource(settings.Seed))
		random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		mixed = mixed[:settings.Some]
	}
	return mixed, nil
}

func named(list string, torments []torment) ([]torment, error) {
	known := map[string]torment{}
	var names []string
	for _, one := range torments {
		known[one.name] = one
		names = append(names, one.name)
	}
	var found []torment
	for _, name := range strings.Split(list, ";") {
		one, isKnown := known[strings.TrimSpace(name)]
		if !isKnown {
			return nil, fmt.Errorf("%q is none of: %s", name, strings.Join(names, "; "))
		}
		found = append(found, one)
	}
	return found, nil
}

// endByForce ends the leases of a name now and then, as an admin does.
func endByForce(shared *run, address string, random *rand.Rand) {
	admin := &web{worker: &worker{run: shared, door: "admin", random: random, owner: "r-admin"}, wire: newWire(address), bearer: adminToken}
	defer admin.close()
	for !shared.isOver.Load() {
		admin.pause(100, 600)
		name := admin.name("n")
		admin.record(admin.ask(history.Force, name), func() result {
			answer, fields, err := admin.send("DELETE", "/v1/locks/"+name, nil, 0)
			switch {
			case err != nil:
				return lost(err)
			case answer.status == 200 && fields["released"] == true:
				return ok(history.Answer{})
			case answer.status == 200:
				return refused(history.Answer{})
			case textOf(fields, "reason") == "BUSY_RETRY" && !answer.mayBeDone():
				return failed
			}
			return admin.strangeAnswer("force", answer)
		})
	}
}
