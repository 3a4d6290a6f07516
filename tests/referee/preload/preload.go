// Package preload loads a small library into a program whose disk and whose clock are to fail. library/preload.c says how.
package preload

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

//go:embed library/preload.c
var source []byte

// Library is what is loaded, and what it is told to do. One library serves all starts of a program.
type Library struct {
	path, control string
	shared        *control
}

// control is the struct of the same name in preload.c.
type control struct {
	writeError, syncError, syncMs, clockNs, writes, failures int64
}

// Build compiles the library. It returns an error where there is no C compiler. `folder` exists.
func Build(folder string) (*Library, error) {
	code := filepath.Join(folder, "preload.c")
	if err := os.WriteFile(code, source, 0o600); err != nil {
		return nil, err
	}
	l := &Library{path: filepath.Join(folder, "preload.so"), control: filepath.Join(folder, "control")}
	said, err := exec.Command("cc", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-o", l.path, code).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	if err := os.WriteFile(l.control, make([]byte, unsafe.Sizeof(control{})), 0o600); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.control, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(unsafe.Sizeof(control{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	l.shared = (*control)(unsafe.Pointer(&mapped[0]))
	return l, nil
}

// Environment of a program whose files beneath `folder` are touched. `record`: where each change of them is written; empty: nowhere.
func (l *Library) Environment(folder, record string) []string {
	environment := append(os.Environ(), "LD_PRELOAD="+l.path, "REFEREE_CONTROL="+l.control, "REFEREE_FOLDER="+folder,
		"ASAN_OPTIONS=verify_asan_link_order=0")
	if record != "" {
		environment = append(environment, "REFEREE_RECORD="+record)
	}
	return environment
}

// FailWrites has every write fail from now on; 0: none.
func (l *Library) FailWrites(with syscall.Errno) {
	atomic.StoreInt64(&l.shared.writeError, int64(with))
}

// FailSyncs has every sync fail from now on; 0: none.
func (l *Library) FailSyncs(with syscall.Errno) { atomic.StoreInt64(&l.shared.syncError, int64(with)) }

// SlowSyncs has every sync take so much longer.
func (l *Library) SlowSyncs(by time.Duration) { atomic.StoreInt64(&l.shared.syncMs, by.Milliseconds()) }

// SetClock sets the time of day so much ahead of the machine's, or behind it.
func (l *Library) SetClock(ahead time.Duration) {
	atomic.StoreInt64(&l.shared.clockNs, ahead.Nanoseconds())
}

// Writes is how many there were, and Failures how many writes and syncs were refused.
func (l *Library) Writes() int64   { return atomic.LoadInt64(&l.shared.writes) }
func (l *Library) Failures() int64 { return atomic.LoadInt64(&l.shared.failures) }

// Kind of a change of a file.
type Kind uint32

const (
	Write        Kind = 1
	DurableWrite Kind = 2 // on disk when it returned
	Sync         Kind = 3
	Cut          Kind = 4 // to Offset bytes
	Rename       Kind = 5 // to To
	Remove       Kind = 6
)

// Change of a file, in the order in which the program made them.
type Change struct {
	Kind   Kind
	Path   string
	Offset int64
	Bytes  []byte
	To     string
	End    int // how long the record is with this change
}

const headSize = 24

// ReadRecord returns the changes that a program made.
func ReadRecord(path string) ([]Change, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var changes []Change
	whole := len(text)
	for len(text) >= headSize {
		kind := Kind(binary.LittleEndian.Uint32(text))
		pathSize := int64(binary.LittleEndian.Uint32(text[4:]))
		offset, size := int64(binary.LittleEndian.Uint64(text[8:])), int64(binary.LittleEndian.Uint64(text[16:]))
		if int64(len(text)) < headSize+pathSize+size {
			break // the program was killed while it wrote this
		}
		one := Change{Kind: kind, Path: string(text[headSize : headSize+pathSize]), Offset: offset,
			Bytes: text[headSize+pathSize : headSize+pathSize+size]}
		if kind == Rename {
			one.To = string(one.Bytes)
		}
		text = text[headSize+pathSize+size:]
		one.End = whole - len(text)
		changes = append(changes, one)
	}
	return changes, nil
}
