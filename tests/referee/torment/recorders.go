package torment

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"holdfast/tests/referee/history"
	"holdfast/tests/referee/process"
)

// recorder is a client of an SDK: a process that prints the lines of a history, and believes what its SDK says. It is killed, stopped
// and started again.
type recorder struct {
	run     *run
	door    string
	command []string
	log     string
	server  string
	token   string
	where   string
	seed    int64

	process *process.Process
	lives   int
	group   sync.WaitGroup
}

// recordersFolder has the programs; ours are started from the folder of the referee's sources.
func recordersFolder() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(file), "..", "recorders")
	_, err := os.Stat(folder)
	return folder, err
}

// sdks are the commands of the recorders that can run here. What is missing is said.
func sdks(build, cpp string, out io.Writer) map[string][]string {
	folder, err := recordersFolder()
	if err != nil {
		fmt.Fprintf(out, "*** no SDK takes part: %v ***\n", err)
		return nil
	}
	clients := filepath.Join(folder, "..", "..", "..", "clients")
	commands := map[string][]string{}
	if cpp != "" {
		commands["cpp"] = []string{cpp}
	} else {
		fmt.Fprintln(out, "*** the SDK for C++ takes no part: its recorder is not named ***")
	}
	if python, err := exec.LookPath("python3"); err != nil {
		fmt.Fprintf(out, "*** the SDKs for Python take no part: %v ***\n", err)
	} else {
		path := "PYTHONPATH=" + filepath.Join(clients, "python")
		for _, door := range []string{"python", "asyncio"} {
			commands[door] = []string{"env", path, "PYTHONDONTWRITEBYTECODE=1", python, filepath.Join(folder, door+"_recorder.py")}
		}
	}
	if node, err := exec.LookPath("node"); err != nil {
		fmt.Fprintf(out, "*** the SDK for JavaScript takes no part: %v ***\n", err)
	} else {
		commands["javascript"] = []string{node, filepath.Join(folder, "javascript_recorder.mjs")}
	}
	program := filepath.Join(build, "go_recorder")
	compile := exec.Command("go", "build", "-o", program, ".")
	compile.Dir = filepath.Join(folder, "go")
	if said, err := compile.CombinedOutput(); err != nil {
		fmt.Fprintf(out, "*** the SDK for Go takes no part: %v %s ***\n", err, said)
	} else {
		commands["go"] = []string{program}
	}
	return commands
}

// startRecorders starts one client of each SDK at the doors of one place.
func (b *bench) startRecorders(commands map[string][]string, folder string, doors Doors) error {
	clients, err := recordersFolder()
	if err != nil {
		return nil // that was said before
	}
	for door, command := range commands {
		b.clients++
		r := &recorder{run: b.run, door: door, command: command, log: filepath.Join(folder, door+".log"), server: "http://" + doors.HTTP,
			token: filepath.Join(folder, "clients-token"), where: fmt.Sprintf("%s at %d", door, b.places), seed: int64(b.clients)}
		r.command = append(r.command[:len(r.command):len(r.command)], r.server, r.token)
		b.run.noteGrant(r.where, 0)
		b.recorders = append(b.recorders, r)
		if err := r.start(filepath.Join(clients, "..", "..", "..", "clients", "js")); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) start(sdk string) error {
	r.lives++
	name := fmt.Sprintf("r-%s-%d-%d", r.door, r.seed, r.lives)
	words := append(append([]string{}, r.command...), name, fmt.Sprint(r.seed), fmt.Sprint(r.run.recorder.Zero()), sdk)
	command := exec.Command(words[0], words[1:]...)
	output, input, err := os.Pipe()
	if err != nil {
		return err
	}
	started, err := process.StartWith(command, input, r.log)
	_ = input.Close()
	if err != nil {
		return err
	}
	r.process = started
	r.group.Add(1)
	go func() {
		defer r.group.Done()
		defer output.Close()
		asked := map[int]int64{}
		err := r.run.recorder.Merge(output, func(line history.Line) {
			if line.Event == "invoked" && line.Kind == history.Acquire {
				asked[line.Op] = line.At
			} else if at, isAcquire := asked[line.Op]; isAcquire {
				delete(asked, line.Op)
				if line.Event == string(history.OK) {
					r.run.noteGrant(r.where, at)
				}
			}
		})
		if err != nil {
			r.run.strangeAnswer(r.door, err.Error())
		}
	}()
	return nil
}

// end kills the client. What it was doing is unknown.
func (r *recorder) end() {
	r.process.Signal(syscall.SIGCONT)
	r.process.Kill()
	r.group.Wait()
}

// clientsFail are what goes wrong with the clients of the SDKs.
func (b *bench) clientsFail() []torment {
	if len(b.recorders) == 0 {
		return nil
	}
	return []torment{
		{name: "clients are killed", do: b.killClients},
		{name: "clients stand still", do: b.suspendClients},
	}
}

func (b *bench) killClients() error {
	clients, err := recordersFolder()
	if err != nil {
		return err
	}
	for _, one := range b.recorders {
		if b.random.Intn(3) == 0 {
			continue
		}
		one.end()
		if err := one.start(filepath.Join(clients, "..", "..", "..", "clients", "js")); err != nil {
			return err
		}
	}
	return nil
}

// suspendClients stops them for longer than a lease lasts: when they go on, their SDK must know that.
func (b *bench) suspendClients() error {
	for i := 0; i < 2; i++ {
		for _, one := range b.recorders {
			one.process.Signal(syscall.SIGSTOP)
		}
		b.pause(ttl, ttl+time.Second)
		for _, one := range b.recorders {
			one.process.Signal(syscall.SIGCONT)
		}
		b.pause(300*time.Millisecond, time.Second)
	}
	return nil
}
