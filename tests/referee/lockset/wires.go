package lockset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
)

// redisLine is a connection to Redis, for commands whose answer is one line.
type redisLine struct {
	connection net.Conn
	reader     *bufio.Reader
}

func dialRedis(address string) (*redisLine, error) {
	connection, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	return &redisLine{connection, bufio.NewReader(connection)}, nil
}

func (l *redisLine) do(words ...string) (string, error) {
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(l.connection, command.String()); err != nil {
		return "", err
	}
	line, err := l.reader.ReadString('\n')
	line = strings.TrimRight(line, "\r\n")
	if strings.HasPrefix(line, "-") {
		err = fmt.Errorf("redis: %s", line)
	}
	return line, err
}

// postgresLine is a session of PostgreSQL, for queries without a result that matters.
type postgresLine struct {
	connection net.Conn
	reader     *bufio.Reader
}

func dialPostgres(address, applicationName string) (*postgresLine, error) {
	connection, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	l := &postgresLine{connection, bufio.NewReader(connection)}
	var start bytes.Buffer
	_ = binary.Write(&start, binary.BigEndian, uint32(3<<16)) // version 3.0 of the protocol
	fmt.Fprintf(&start, "user\x00postgres\x00database\x00postgres\x00application_name\x00%s\x00\x00", applicationName)
	if err = l.send(0, start.Bytes()); err == nil {
		err = l.untilReady()
	}
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return l, nil
}

// send writes a message; only the first one of a session has no type.
func (l *postgresLine) send(kind byte, body []byte) error {
	var message bytes.Buffer
	if kind != 0 {
		message.WriteByte(kind)
	}
	_ = binary.Write(&message, binary.BigEndian, uint32(len(body)+4))
	message.Write(body)
	_, err := l.connection.Write(message.Bytes())
	return err
}

// untilReady reads until the server awaits the next query.
func (l *postgresLine) untilReady() error {
	var failure error
	for {
		var head [5]byte
		if _, err := io.ReadFull(l.reader, head[:]); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(l.reader, body); err != nil {
			return err
		}
		switch head[0] {
		case 'E':
			failure = fmt.Errorf("postgresql: %q", body)
		case 'Z':
			return failure
		}
	}
}

func (l *postgresLine) query(text string) error {
	if err := l.send('Q', append([]byte(text), 0)); err != nil {
		return err
	}
	return l.untilReady()
}

// postgresLock: a session-level advisory lock. It has no TTL: it ends with its session.
type postgresLock struct {
	address string
	name    string
	line    *postgresLine
}

func (l *postgresLock) acquire() (uint64, error) {
	if l.line == nil {
		line, err := dialPostgres(l.address, l.name)
		if err != nil {
			return 0, err
		}
		l.line = line
	}
	return 0, l.do("SELECT pg_advisory_lock(1)")
}

func (l *postgresLock) do(query string) error {
	err := l.line.query(query)
	if err != nil {
		_ = l.line.connection.Close()
		l.line = nil
	}
	return err
}

func (l *postgresLock) renew() {}

func (l *postgresLock) release() error { return l.do("SELECT pg_advisory_unlock(1)") }
