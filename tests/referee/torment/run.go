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
	"syscall"
	"time"

	"holdfast/tests/referee/history"
)

// Settings of a run.
type Settings struct {
	Program string        // the server
	Folder  string        // for everything that is written; empty
	Seed    int64         // decides what goes wrong and what clients do, but not the machine's own order
	Lasts   time.Duration // of the torments
	Only    string        // the name of the only torment; empty: all of them at random
	Calm    bool          // nothing goes wrong
	Out     io.Writer     // what happens, for people
}

// Outcome of a run.
type Outcome struct {
	History *history.History
	Strange []string // answers that no document describes
}

// clientsPerDoor: half of them through a proxy, half directly.
const clientsPerDoor = 4

// Run returns when everything that it started has ended.
func Run(settings Settings) (*Outcome, error) {
	file, err := os.Create(filepath.Join(settings.Folder, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewWriter(file)
	defer lines.Flush()
	// In runs with an odd seed, leases of dflockd's clients end with their connections. Only the server then ends connections.
	shared := &run{recorder: history.NewRecorder(lines), start: time.Now(), strange: make(chan string, 100),
		endsWithConnection: settings.Seed%2 != 0}
	var options []string
	if !shared.endsWithConnection {
		options = []string{"--no-dflockd-auto-release-on-disconnect"}
	}
	server, err := NewServer(settings.Program, settings.Folder, options)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	server.MakeDiskSmall(settings.Out)
	if err := server.Start(); err != nil {
		return nil, err
	}
	err = torture(settings, shared, server)
	recorded, recorderError := shared.recorder.History()
	if err == nil {
		err = recorderError
	}
	close(shared.strange)
	outcome := &Outcome{History: recorded}
	seen := map[string]bool{}
	for answer := range shared.strange {
		if !seen[answer] {
			outcome.Strange = append(outcome.Strange, answer)
		}
		seen[answer] = true
	}
	return outcome, err
}

func torture(settings Settings, shared *run, server *Server) error {
	random := rand.New(rand.NewSource(settings.Seed))
	through, proxies, err := newProxies(server.Doors)
	if err != nil {
		return err
	}
	defer func() {
		for _, proxy := range proxies {
			proxy.Close()
		}
	}()
	if shared.endsWithConnection {
		through.Dflockd = server.Doors.Dflockd
	}
	var group sync.WaitGroup
	for number := 0; number < clientsPerDoor; number++ {
		doors := server.Doors
		if number%2 == 0 {
			doors = through
		}
		startClients(shared, doors, number, random, &group)
	}
	group.Add(1)
	go func() {
		defer group.Done()
		endByForce(shared, server.Doors.HTTP, rand.New(rand.NewSource(settings.Seed+1)))
	}()
	err = goWrong(settings, &Torments{server: server, proxies: proxies, run: shared, random: random})
	shared.isOver.Store(true)
	group.Wait()
	if err == nil {
		err = server.End(syscall.SIGTERM)
	} else {
		_ = server.End(syscall.SIGKILL)
	}
	return err
}

func newProxies(doors Doors) (Doors, []*Proxy, error) {
	var proxies []*Proxy
	through := doors
	for _, address := range []*string{&through.HTTP, &through.Dflockd, &through.Redis, &through.Files} {
		proxy, err := NewProxy(*address)
		if err != nil {
			return through, proxies, err
		}
		*address = proxy.Address()
		proxies = append(proxies, proxy)
	}
	return through, proxies, nil
}

func startClients(shared *run, doors Doors, number int, random *rand.Rand, group *sync.WaitGroup) {
	at := func(door string) *worker { return newWorker(shared, door, number, random.Int63()) }
	over := func(door, address string) web { return web{worker: at(door), wire: newWire(address), bearer: token} }
	fileClient := files{web: over("files", doors.Files)}
	place := 0
	for _, made := range []interface {
		client
		who() *worker
	}{
		&scoped{over("scoped", doors.HTTP)}, &scoped{over("scoped", doors.HTTP)},
		&lockserver{over("lockserver", doors.HTTP)}, &homelab{over("homelab", doors.HTTP)},
		&terraform{over("terraform", doors.HTTP)}, &fileClient,
		&dflockd{worker: at("dflockd"), address: doors.Dflockd},
		&redisClient{worker: at("redis"), address: doors.Redis},
	} {
		made := made
		place++
		made.who().number = number*10 + place
		group.Add(1)
		go func() {
			defer group.Done()
			made.who().work(made)
		}()
	}
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
			case textOf(fields, "reason") == "BUSY_RETRY":
				return failed
			}
			return admin.strangeAnswer("force", answer)
		})
	}
}

func goWrong(settings Settings, t *Torments) error {
	torments, err := chosen(settings)
	if err != nil {
		return err
	}
	end := time.Now().Add(settings.Lasts)
	for turn := 0; time.Now().Before(end); turn++ {
		t.pause(200*time.Millisecond, 2*time.Second)
		if len(torments) == 0 {
			continue
		}
		chosen := torments[t.random.Intn(len(torments))]
		if turn < len(torments) {
			chosen = torments[turn] // each once, as far as the time goes
		}
		began := time.Now()
		fmt.Fprintf(settings.Out, "%8.1f s  %s\n", time.Since(t.run.start).Seconds(), chosen.name)
		t.run.recorder.Note(chosen.name)
		if err := chosen.do(t); err != nil {
			return fmt.Errorf("%s: %w", chosen.name, err)
		}
		if !t.server.IsAlive() {
			return fmt.Errorf("%s: the server has ended by itself %s after: %s", chosen.name, time.Since(began), t.server.process.LastWords())
		}
	}
	return nil
}

func chosen(settings Settings) ([]torment, error) {
	if settings.Calm {
		return nil, nil
	}
	if settings.Only == "" {
		return all, nil
	}
	var names []string
	for _, one := range all {
		if one.name == settings.Only {
			return []torment{one}, nil
		}
		names = append(names, one.name)
	}
	return nil, fmt.Errorf("%q is none of: %s", settings.Only, strings.Join(names, ", "))
}
