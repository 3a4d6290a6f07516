package history

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestWhatIsRecordedIsReadAgain(t *testing.T) {
	var file bytes.Buffer
	recorder := NewRecorder(&file)
	first := recorder.Invoke(Ask{Client: "ann", Door: "scoped", Kind: Acquire, Scopes: []string{"x"}, TTLms: 1000})
	second := recorder.Invoke(Ask{Client: "bob", Door: "redis", Kind: Acquire, Scopes: []string{"x"}})
	recorder.Note("restart")
	recorder.End(first, OK, Answer{Granted: "t", Number: 7})
	recorder.End(second, Unknown, Answer{})
	third := recorder.Invoke(Ask{Client: "carl", Kind: Look, Scopes: []string{"x"}})
	_ = third
	recorded, err := recorder.History()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(recorded, read) {
		t.Fatalf("recorded %+v, read %+v", recorded, read)
	}
	if read.Operations[0].Number != 7 || read.Operations[1].Return != Never || read.Operations[2].Outcome != Unknown {
		t.Fatalf("%+v", read)
	}
	var again bytes.Buffer
	if err := read.Save(&again); err != nil {
		t.Fatal(err)
	}
	if second, err := Parse(&again); err != nil || len(second.Operations) != 3 {
		t.Fatalf("%+v, %v", second, err)
	}
}

func TestLinesThatMakeNoSenseAreRefused(t *testing.T) {
	for _, text := range []string{
		`no json`,
		`{"event":"done","op":1,"at_ns":1}`,
		`{"event":"ok","op":1,"at_ns":1}`,
		"{\"event\":\"invoked\",\"op\":1,\"at_ns\":1}\n{\"event\":\"invoked\",\"op\":1,\"at_ns\":2}",
		"{\"event\":\"invoked\",\"op\":1,\"at_ns\":1}\n{\"event\":\"ok\",\"op\":1,\"at_ns\":2}\n{\"event\":\"ok\",\"op\":1,\"at_ns\":3}",
		"{\"event\":\"invoked\",\"op\":1,\"at_ns\":5}\n{\"event\":\"ok\",\"op\":1,\"at_ns\":2}",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
}

func TestTheLinesOfAnotherRecorderAreMerged(t *testing.T) {
	recorder := NewRecorder(io.Discard)
	own := recorder.Invoke(Ask{Kind: Acquire, Scopes: []string{"x"}})
	at := recorder.Zero() - 1000 // before all else
	lines := fmt.Sprintf(`{"event":"invoked","op":1,"kind":"look","scopes":["x"],"at_ns":%d}
{"event":"ok","op":1,"holder":"ann","at_ns":%d}
{"event":"invoked","op":2,"kind":"look","scopes":["x"],"at_ns":%d}
`, at, at+5, at+7)
	seen := 0
	if err := recorder.Merge(strings.NewReader(lines), func(Line) { seen++ }); err != nil {
		t.Fatal(err)
	}
	h, err := recorder.History()
	if err != nil || len(h.Operations) != 3 || seen != 3 {
		t.Fatalf("%v, %d operations, %d lines", err, len(h.Operations), seen)
	}
	first, second := h.Operations[0], h.Operations[1]
	if first.ID == own || first.Call != -1000 || first.Return != -995 || first.Holder != "ann" || second.Outcome != Unknown {
		t.Errorf("%+v %+v", first, second)
	}
}
