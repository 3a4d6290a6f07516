package holdfast

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

const eventBytesMax = 1 << 20

// readEvents reads server-sent events. It calls onLine with every line, also with those that only keep
// the connection alive. It returns io.EOF at the end of the stream, or the error of each.
func readEvents(stream io.Reader, onLine func(), each func(Event) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 4096), eventBytesMax)
	var id, kind, data string
	for lines.Scan() {
		onLine()
		line := lines.Text()
		if line != "" {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "id":
				id = value
			case "event":
				kind = value
			case "data":
				if data != "" {
					data += "\n"
				}
				data += value
			}
			continue
		}
		if data != "" {
			if err := each(newEvent(id, kind, data)); err != nil {
				return err
			}
		}
		id, kind, data = "", "", ""
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

func newEvent(id, kind, data string) Event {
	var body struct {
		AtMs         int64  `json:"at_ms"`
		LockName     string `json:"lock_name"`
		Resource     string `json:"resource"`
		Kind         string `json:"kind"`
		OwnerID      string `json:"owner_id"`
		FencingToken uint64 `json:"fencing_token"`
		Metadata     string `json:"metadata"`
	}
	_ = json.Unmarshal([]byte(data), &body) // a field of another type stays empty
	event := Event{
		Kind:         kind,
		Name:         body.LockName,
		LockKind:     body.Kind,
		Owner:        body.OwnerID,
		FencingToken: body.FencingToken,
		Metadata:     body.Metadata,
		At:           time.UnixMilli(body.AtMs).UTC(),
		Data:         json.RawMessage(data),
	}
	event.ID, _ = strconv.ParseUint(id, 10, 64)
	if body.Resource != "" {
		event.Name = body.Resource
	}
	return event
}
