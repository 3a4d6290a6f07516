// Package history has the operations of clients, as a file of lines that a recorder in any language can write.
//
// Every line is one JSON object. A line "invoked" is written before a request is sent, and has what was asked. One other line
// follows with the same "op" when the client knows how it ended, or knows that it never will:
//
//	ok       it was done, and this is the answer
//	refused  it was answered, and it was not done: the lock is held, the lease has ended, the number is too small
//	failed   the server says that nothing was done: it is busy, is stopping, or its disk failed
//	unknown  there was no answer: it was done, or not, or will still be
//
// An operation without a second line is unknown. A line "note" is about the whole run: "restart" is one moment at which a
// process that served has ended.
//
// "at_ns" is a time of one clock that nobody can set, the same for all lines.
package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"
	"time"
)

// Never is the end of an operation whose end was not seen.
const Never = int64(math.MaxInt64)

type Outcome string

const (
	OK      Outcome = "ok"
	Refused Outcome = "refused"
	Failed  Outcome = "failed"
	Unknown Outcome = "unknown"
)

type Kind string

// What a client can ask for.
const (
	Acquire   Kind = "acquire"    // a lease
	Renew     Kind = "renew"      // its lease lasts longer
	Release   Kind = "release"    // its lease ends
	Force     Kind = "force"      // all leases on the scope end
	Look      Kind = "look"       // who holds the lock, and with which value
	SetValue  Kind = "set_value"  // the value of its lease
	Write     Kind = "write"      // content that the lock protects at the server itself
	Read      Kind = "read"       // that content
	PassFence Kind = "pass_fence" // may I go on with this number?
	LookFence Kind = "look_fence" // the largest number so far
	DropFence Kind = "drop_fence" // forget the largest number
)

// Ask is what a client asks for. Fields without a value are left out.
type Ask struct {
	Client string   `json:"client,omitempty"`
	Door   string   `json:"door,omitempty"`
	Kind   Kind     `json:"kind,omitempty"`
	Scopes []string `json:"scopes,omitempty"` // in the text form; of a fence, the name of the resource
	Shared bool     `json:"shared,omitempty"`
	Limit  int      `json:"limit,omitempty"` // permits of a semaphore
	Owner  string   `json:"owner,omitempty"` // who holds the lease then, as others are told
	// The lease that is renewed, released or changed. Of an acquire: only if the client chooses it, as at the Redis door.
	Token string `json:"token,omitempty"`
	// Asking again for what the same owner has is a renewal, and not refused (/lock, files, Terraform).
	Reentrant bool   `json:"reentrant,omitempty"`
	TTLms     int64  `json:"ttl_ms,omitempty"` // 0: without an end
	GraceMs   int64  `json:"grace_ms,omitempty"`
	WaitMs    int64  `json:"wait_ms,omitempty"`
	Request   string `json:"request_id,omitempty"`
	Value     string `json:"value,omitempty"`
	Fence     uint64 `json:"fence,omitempty"`
	// Of a write: Holds, it needs the lease of Token. Frees, that lease ends with it.
	Holds bool `json:"holds,omitempty"`
	Frees bool `json:"frees,omitempty"`
}

// NoRevision is the revision of an answer that says that there is no value.
const NoRevision = -1

// Answer is what the client was told.
type Answer struct {
	Granted  string   `json:"granted_token,omitempty"`
	Number   uint64   `json:"number,omitempty"` // the fencing number of the lease; of a fence, the largest
	Holder   string   `json:"holder,omitempty"` // empty: not told, or nobody
	Free     bool     `json:"free,omitempty"`   // nobody holds it
	Content  string   `json:"content,omitempty"`
	Revision int      `json:"revision,omitempty"`
	Kept     bool     `json:"kept,omitempty"`  // of a write that frees: its lease may be there still
	Queue    []string `json:"queue,omitempty"` // the owners that wait, the next one first
	Text     string   `json:"text,omitempty"`  // for people
}

// Operation is one request with its end.
type Operation struct {
	ID      int
	Call    int64
	Return  int64 // Never if it is unknown
	Outcome Outcome
	Ask
	Answer
}

// Note is a moment of the whole run.
type Note struct {
	At   int64
	Text string
}

// History is everything that was recorded, with operations in the order of their calls.
type History struct {
	Operations []Operation
	Notes      []Note
}

// TTL is how long the lease lasts; false if it has no end.
func (o *Operation) TTL() (time.Duration, bool) {
	return time.Duration(o.TTLms) * time.Millisecond, o.TTLms > 0
}

// Line is one line of the file.
type Line struct {
	Event string `json:"event"`
	Op    int    `json:"op,omitempty"`
	At    int64  `json:"at_ns"`
	Note  string `json:"note,omitempty"`
	Ask
	Answer
}

// Parse makes a history of lines.
func Parse(input io.Reader) (*History, error) {
	scanner := bufio.NewScanner(input)
	scanner.Buffer(make([]byte, 64*1024), 16*1024*1024)
	builder := newBuilder()
	for number := 1; scanner.Scan(); number++ {
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if err := builder.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return builder.finish(), scanner.Err()
}

type builder struct {
	history History
	places  map[int]int // of an operation, in the history
	ended   map[int]bool
}

func newBuilder() *builder {
	return &builder{places: map[int]int{}, ended: map[int]bool{}}
}

func (b *builder) add(line Line) error {
	switch line.Event {
	case "note":
		b.history.Notes = append(b.history.Notes, Note{At: line.At, Text: line.Note})
		return nil
	case "invoked":
		if _, known := b.places[line.Op]; known {
			return fmt.Errorf("operation %d is invoked twice", line.Op)
		}
		b.places[line.Op] = len(b.history.Operations)
		b.history.Operations = append(b.history.Operations,
			Operation{ID: line.Op, Call: line.At, Return: Never, Outcome: Unknown, Ask: line.Ask})
		return nil
	case string(OK), string(Refused), string(Failed), string(Unknown):
		return b.end(line)
	}
	return fmt.Errorf("unknown event %q", line.Event)
}

func (b *builder) end(line Line) error {
	place, known := b.places[line.Op]
	if !known {
		return fmt.Errorf("operation %d ends and was never invoked", line.Op)
	}
	if b.ended[line.Op] {
		return fmt.Errorf("operation %d ends twice", line.Op)
	}
	b.ended[line.Op] = true
	operation := &b.history.Operations[place]
	operation.Outcome = Outcome(line.Event)
	operation.Answer = line.Answer
	if operation.Outcome != Unknown {
		operation.Return = line.At
		if line.At < operation.Call {
			return fmt.Errorf("operation %d ends before it begins", line.Op)
		}
	}
	return nil
}

func (b *builder) finish() *History {
	operations := b.history.Operations
	sort.SliceStable(operations, func(i, j int) bool { return operations[i].Call < operations[j].Call })
	return &b.history
}

// Lines are the lines of a history, in the order of their times.
func (h *History) Lines() []Line {
	var lines []Line
	for _, note := range h.Notes {
		lines = append(lines, Line{Event: "note", At: note.At, Note: note.Text})
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		lines = append(lines, Line{Event: "invoked", Op: o.ID, At: o.Call, Ask: o.Ask})
		if o.Outcome != Unknown {
			lines = append(lines, Line{Event: string(o.Outcome), Op: o.ID, At: o.Return, Answer: o.Answer})
		}
	}
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].At < lines[j].At })
	return lines
}

// Save writes the lines of a history.
func (h *History) Save(output io.Writer) error {
	buffered := bufio.NewWriter(output)
	encoder := json.NewEncoder(buffered)
	for _, line := range h.Lines() {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
