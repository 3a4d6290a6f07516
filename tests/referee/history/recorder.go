package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Recorder writes the lines of clients that run at the same time, as they happen: a run that is killed keeps what it saw.
// Thread safe.
type Recorder struct {
	mutex   sync.Mutex
	start   time.Time
	zero    int64 // CLOCK_MONOTONIC at the start
	output  *json.Encoder
	builder *builder
	next    int
	err     error
}

// NewRecorder counts time from now on.
func NewRecorder(output io.Writer) *Recorder {
	return &Recorder{start: time.Now(), zero: monotonic(), output: json.NewEncoder(output), builder: newBuilder()}
}

// Zero is the recorder's beginning by CLOCK_MONOTONIC, in nanoseconds: the clock of other recorders.
func (r *Recorder) Zero() int64 { return r.zero }

func monotonic() int64 {
	const clockMonotonic = 1
	var at syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// Merge adds the lines of another recorder as they come, with their times by CLOCK_MONOTONIC, and returns at their end. What is under
// way then is unknown. `seen` is called for each line.
func (r *Recorder) Merge(input io.Reader, seen func(Line)) error {
	scanner := bufio.NewScanner(input)
	numbers := map[int]int{}
	for scanner.Scan() {
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return fmt.Errorf("%w: %s", err, scanner.Text())
		}
		line.At -= r.zero
		r.mutex.Lock()
		if line.Event == "invoked" {
			r.next++
			numbers[line.Op] = r.next
		}
		line.Op = numbers[line.Op]
		r.write(line)
		r.mutex.Unlock()
		seen(line)
	}
	return scanner.Err()
}

// Now is the time of the recorder's clock.
func (r *Recorder) Now() int64 { return int64(time.Since(r.start)) }

// Invoke is called directly before a request is sent. It returns the number of the operation.
func (r *Recorder) Invoke(ask Ask) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.next++
	r.write(Line{Event: "invoked", Op: r.next, At: r.Now(), Ask: ask})
	return r.next
}

// End is called directly after an answer was read, or when there will be none.
func (r *Recorder) End(operation int, outcome Outcome, answer Answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.write(Line{Event: string(outcome), Op: operation, At: r.Now(), Answer: answer})
}

// Note is a moment of the whole run.
func (r *Recorder) Note(text string) { r.NoteAt(text, r.Now()) }

// NoteAt is a moment that is over.
func (r *Recorder) NoteAt(text string, at int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.write(Line{Event: "note", At: at, Note: text})
}

// History is what was recorded. The recorder must not be used any more.
func (r *Recorder) History() (*History, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.builder.finish(), r.err
}

func (r *Recorder) write(line Line) {
	if err := r.output.Encode(line); err != nil && r.err == nil {
		r.err = err
	}
	if err := r.builder.add(line); err != nil && r.err == nil {
		r.err = err
	}
}
