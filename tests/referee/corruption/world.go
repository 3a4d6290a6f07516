package corruption

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"holdfast/tests/referee/preload"
	"holdfast/tests/referee/process"
)

// state is what a server says that it has, without the times: a restart gives every lease its full TTL again.
type state struct {
	text    string
	numbers []uint64 // of the leases
}

// told is a state that was acknowledged.
type told struct {
	state
	tokens  map[string]uint64 // of the leases that are held, with their numbers
	largest uint64            // the largest number that was given out so far
	changes int               // how many changes of files were made until the answer was there
}

// world is a server's whole life: what it wrote, and what it had told at which moment.
type world struct {
	folder  string // as the files were when it was killed
	older   string // a complete copy from before
	changes []preload.Change
	told    []told // in order; the first is an empty server
	fences  []string
}

// server is one start of the program on a folder.
type server struct {
	process *process.Process
	url     string
	web     http.Client
}

var lease = time.Hour // nothing ends by itself

// start returns when the server answers, or has ended: then with its last words.
func start(program, data, log string, environment []string) (*server, error) {
	command := exec.Command(program, "serve", "--data", data, "--http", "127.0.0.1:0", "--dflockd", "none", "--log-format", "text")
	command.Env = environment
	started, err := process.Start(command, log)
	if err != nil {
		return nil, err
	}
	s := &server{process: started, web: http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}}
	err = started.Until(func() bool {
		said, _ := os.ReadFile(log)
		_, after, found := strings.Cut(string(said), "listening http ")
		address, _, isWhole := strings.Cut(after, "\n")
		s.url = "http://" + strings.TrimSpace(address)
		return found && isWhole
	})
	return s, err
}

func (s *server) ask(method, path string, body any) (int, map[string]any, error) {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	request, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	response, err := s.web.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(read))
	decoder.UseNumber()
	_ = decoder.Decode(&fields)
	return response.StatusCode, fields, err
}

func number(fields map[string]any, name string) uint64 {
	var value uint64
	_, _ = fmt.Sscan(fmt.Sprint(fields[name]), &value)
	return value
}

// look returns what the server says that it has.
func (s *server) look(fences []string) (state, error) {
	status, fields, err := s.ask("GET", "/v1/leases?limit=1000", nil)
	if err != nil || status != 200 {
		return state{}, fmt.Errorf("the list of leases: %d %v", status, err)
	}
	var lines []string
	var seen state
	leases, _ := fields["leases"].([]any)
	for _, each := range leases {
		one, _ := each.(map[string]any)
		seen.numbers = append(seen.numbers, number(one, "fencing_token"))
		scope, _ := json.Marshal([]any{one["scope"], one["scopes"]})
		lines = append(lines, fmt.Sprint(one["fencing_token"], " ", string(scope), " ", one["holder"], " ", one["mode"], " ", one["ttl_ms"],
			" ", one["value"], " ", one["revision"]))
	}
	for _, name := range fences {
		_, fields, err := s.ask("GET", "/v1/fence/"+name, nil)
		if err != nil {
			return state{}, err
		}
		lines = append(lines, fmt.Sprint("fence ", name, " ", number(fields, "highest")))
	}
	sort.Strings(lines)
	seen.text = strings.Join(lines, "\n")
	return seen, nil
}

// history of one client that does one thing after the other.
type life struct {
	*world
	random  *rand.Rand
	server  *server
	record  string
	tokens  map[string]uint64
	largest uint64
	names   int
}

// operations of one life.
const operations = 40

// live runs a server in an empty folder, with one client, and kills it.
func live(program, folder string, library *preload.Library, seed int64) (*world, error) {
	data := filepath.Join(folder, "data")
	l := &life{world: &world{folder: data, older: filepath.Join(folder, "older"), fences: []string{"one", "two"}},
		random: rand.New(rand.NewSource(seed)), record: filepath.Join(folder, "record"), tokens: map[string]uint64{}}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(l.record, nil, 0o600); err != nil {
		return nil, err
	}
	begin := func(log string) (err error) {
		l.server, err = start(program, data, filepath.Join(folder, log), library.Environment(data, l.record))
		return err
	}
	err := begin("first.log")
	defer func() { l.server.process.Kill() }()
	if err == nil {
		err = l.tell()
	}
	copied := operations/4 + l.random.Intn(operations/4)
	for i := 0; err == nil && i < operations; i++ {
		if i == copied {
			err = copyFolder(data, l.older)
		}
		if i == operations/2 {
			l.server.process.Kill()
			if err = begin("second.log"); err != nil {
				break
			}
		}
		if l.random.Intn(8) == 0 {
			time.Sleep(1200 * time.Millisecond) // the journal is folded after a second
		}
		if err == nil {
			err = l.step()
		}
		if err == nil {
			err = l.tell()
		}
	}
	if err != nil {
		return nil, err
	}
	l.server.process.Kill()
	if l.changes, err = preload.ReadRecord(l.record); err != nil {
		return nil, err
	}
	return l.world, l.isComplete()
}

// isComplete: what was recorded makes the files that are there.
func (w *world) isComplete() error {
	files := map[string][]byte{}
	for _, one := range w.changes {
		apply(files, one)
	}
	for _, name := range []string{database, log, journal} {
		path := filepath.Join(w.folder, name)
		is, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if !bytes.Equal(is, files[path]) {
			return fmt.Errorf("the record of %s lacks something: %d bytes instead of %d", name, len(files[path]), len(is))
		}
	}
	return nil
}

// tell notes what has been acknowledged, and how many changes of files came before.
func (l *life) tell() error {
	info, err := os.Stat(l.record)
	if err != nil {
		return err
	}
	size := int(info.Size())
	seen, err := l.server.look(l.fences)
	if err != nil {
		return err
	}
	tokens := map[string]uint64{}
	for token, number := range l.tokens {
		tokens[token] = number
	}
	l.told = append(l.told, told{state: seen, tokens: tokens, largest: l.largest, changes: size})
	return nil
}

// step is one request that changes something.
func (l *life) step() error {
	switch pick := l.random.Intn(10); {
	case pick < 5 || len(l.tokens) == 0:
		return l.acquire()
	case pick < 7:
		token := l.any()
		delete(l.tokens, token)
		return l.must("DELETE", "/v1/leases/"+token, nil)
	case pick < 8:
		return l.must("PUT", "/v1/leases/"+l.any()+"/value", map[string]any{"value": fmt.Sprint("value-", l.random.Intn(1e6))})
	case pick < 9:
		return l.must("POST", "/v1/fence/"+l.fences[l.random.Intn(len(l.fences))], map[string]any{"fencing_token": l.largest})
	}
	return l.must("POST", "/v1/leases/"+l.any()+"/renew", map[string]any{"ttl_ms": (lease + time.Duration(l.names)*time.Second).Milliseconds()})
}

func (l *life) acquire() error {
	l.names++
	scopes := []string{fmt.Sprint("name-", l.names)}
	if l.random.Intn(4) == 0 {
		scopes = append(scopes, fmt.Sprintf("range:%d:0-%d", l.names, 1+l.random.Intn(1000)))
	}
	status, fields, err := l.server.ask("POST", "/v1/leases", map[string]any{"scopes": scopes, "holder": fmt.Sprint("holder-", l.names),
		"ttl_ms": lease.Milliseconds(), "value": strings.Repeat("v", 1+l.random.Intn(300))})
	if err != nil || status != 200 {
		return fmt.Errorf("acquire: %d %v %v", status, fields, err)
	}
	l.largest = number(fields, "fencing_token")
	l.tokens[fmt.Sprint(fields["token"])] = l.largest
	return nil
}

func (l *life) any() string {
	var tokens []string
	for token := range l.tokens {
		tokens = append(tokens, token)
	}
	sort.Slice(tokens, func(i, j int) bool { return l.tokens[tokens[i]] < l.tokens[tokens[j]] })
	return tokens[l.random.Intn(len(tokens))]
}

func (l *life) must(method, path string, body any) error {
	status, fields, err := l.server.ask(method, path, body)
	if err != nil || status != 200 {
		return fmt.Errorf("%s %s: %d %v %v", method, path, status, fields, err)
	}
	return nil
}

func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		bytes, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), bytes, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// end kills the server.
func (s *server) end() { _ = s.process.End(syscall.SIGKILL); s.web.CloseIdleConnections() }
