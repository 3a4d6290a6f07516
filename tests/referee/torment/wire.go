package torment

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wire is one connection that speaks HTTP. It never sends a request twice: what was not answered is unknown.
type wire struct {
	address    string
	connection net.Conn
	reader     *bufio.Reader
}

func newWire(address string) *wire { return &wire{address: address} }

func (w *wire) close() {
	if w.connection != nil {
		_ = w.connection.Close()
		w.connection = nil
	}
}

type httpAnswer struct {
	status int
	body   []byte
}

// mayBeDone: the server refuses, and says that it does not know whether it has done the request.
func (a *httpAnswer) mayBeDone() bool {
	return a.status != http.StatusOK && bytes.Contains(a.body, []byte(doubt))
}

const doubt = "(it may have been done)"

// fields of an answer in JSON.
func (a *httpAnswer) fields() map[string]any {
	fields := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	_ = decoder.Decode(&fields)
	return fields
}

func textOf(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}

func numberOf(fields map[string]any, name string) uint64 {
	number, _ := fields[name].(json.Number)
	value, _ := strconv.ParseUint(number.String(), 10, 64)
	return value
}

// errNotSent: nobody listens there, so nothing was sent and nothing done.
var errNotSent = errors.New("nobody listens")

// ask sends one request. Any error but errNotSent means that it is not known whether it was done.
func (w *wire) ask(method, path, bearer string, body []byte, timeout time.Duration) (*httpAnswer, error) {
	answer, err := w.exchange(method, path, bearer, body, timeout)
	if err != nil {
		w.close()
	}
	return answer, err
}

func (w *wire) exchange(method, path, bearer string, body []byte, timeout time.Duration) (*httpAnswer, error) {
	deadline := time.Now().Add(timeout)
	if w.connection == nil {
		connection, err := net.DialTimeout("tcp", w.address, timeout)
		if err != nil {
			return nil, errNotSent
		}
		w.connection, w.reader = connection, bufio.NewReader(connection)
	}
	_ = w.connection.SetDeadline(deadline)
	request, err := http.NewRequest(method, "http://"+w.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	if err := request.Write(w.connection); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(w.reader, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.Close {
		w.close()
	}
	return &httpAnswer{response.StatusCode, read}, nil
}

// lines is one connection that speaks in lines: dflockd, and Redis.
type lines struct {
	connection net.Conn
	reader     *bufio.Reader
}

func dialLines(address string) (*lines, error) {
	connection, err := net.DialTimeout("tcp", address, 3*time.Second)
	if err != nil {
		return nil, err
	}
	return &lines{connection, bufio.NewReader(connection)}, nil
}

// dflockd sends a request of three lines and reads the line that answers it.
func (l *lines) dflockd(timeout time.Duration, command, key, argument string) (string, error) {
	_ = l.connection.SetDeadline(time.Now().Add(timeout))
	if _, err := fmt.Fprintf(l.connection, "%s\n%s\n%s\n", command, key, argument); err != nil {
		return "", err
	}
	line, err := l.reader.ReadString('\n')
	return strings.TrimSpace(line), err
}

// redis sends a command. The answer is a string, an int64, nil, or a redisError.
func (l *lines) redis(timeout time.Duration, words ...string) (any, error) {
	_ = l.connection.SetDeadline(time.Now().Add(timeout))
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(l.connection, command.String()); err != nil {
		return nil, err
	}
	line, err := l.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	return l.reply(strings.TrimRight(line, "\r\n"))
}

type redisError string

func (l *lines) reply(line string) (any, error) {
	if line == "" {
		return nil, fmt.Errorf("an empty line")
	}
	rest := line[1:]
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return redisError(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	case '_':
		return nil, nil
	case '$', '*':
		size, err := strconv.Atoi(rest)
		if err != nil || line[0] == '*' && size >= 0 {
			return nil, fmt.Errorf("an unexpected reply %q", line)
		}
		if size < 0 {
			return nil, nil
		}
		text := make([]byte, size+2)
		_, err = io.ReadFull(l.reader, text)
		return string(text[:size]), err
	}
	return nil, fmt.Errorf("an unexpected reply %q", line)
}
