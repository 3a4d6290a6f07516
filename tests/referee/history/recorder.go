package history

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Recorder writes the lines of clients that run at the same time, as they happen: a run that is killed keeps what it saw.
// Thread safe.
type Recorder struct {
	mutex   sync.Mutex
	start   time.Time
	output  *json.Encoder
	builder *builder
	next    int
	err     error
}

// NewRecorder counts time from now on.
func NewRecorder(output io.Writer) *Recorder {
	return &Recorder{start: time.Now(), output: json.NewEncoder(output), builder: newBuilder()}
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
