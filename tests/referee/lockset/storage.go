package lockset

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// storage keeps the set. It believes its clients: a write replaces the whole set. If it has a fence, it refuses a client whose number
// is smaller than the largest it has seen, for reads and for writes.
type storage struct {
	listener net.Listener
	wanted   int // additions. When they are acknowledged, the run is over

	mutex        sync.Mutex
	set          map[string]bool
	acknowledged []string
	refused      int
	hasFence     bool
	largest      uint64
	grants       []grant
	released     time.Time // the last release was about to be sent
	reading      func(client int)
	over         chan struct{}
}

// grant is what a client tells of its lock when it reads.
type grant struct {
	client int
	at     time.Time
	// sinceRelease is the time from the release of the holder before until the client had its answer; negative if the holder
	// before released nothing, or only later.
	sinceRelease time.Duration
}

func newStorage(wanted int, hasFence bool) (*storage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &storage{listener: listener, wanted: wanted, hasFence: hasFence, set: map[string]bool{}, over: make(chan struct{}),
		reading: func(int) {}}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(connection)
		}
	}()
	return s, nil
}

func (s *storage) address() string { return s.listener.Addr().String() }

func (s *storage) close() { _ = s.listener.Close() }

// serve answers the lines of one client. The first one is its number.
func (s *storage) serve(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	client := -1
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "client":
			client, _ = strconv.Atoi(words[1])
			continue
		case "released":
			s.mutex.Lock()
			s.released = timeOf(words[1])
			s.mutex.Unlock()
			continue
		case "read":
			answer := s.read(client, numberOf(words[1]), timeOf(words[2]))
			_, err = fmt.Fprintln(connection, answer)
			s.reading(client)
		case "write":
			_, err = fmt.Fprintln(connection, s.write(numberOf(words[1]), words[2], words[3:]))
		}
		if err != nil {
			return
		}
	}
}

func (s *storage) passes(number uint64) bool {
	if !s.hasFence {
		return true
	}
	if number < s.largest {
		s.refused++
		return false
	}
	s.largest = number
	return true
}

func (s *storage) read(client int, number uint64, grantedAt time.Time) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one := grant{client: client, at: grantedAt, sinceRelease: -1}
	if !s.released.IsZero() {
		one.sinceRelease = grantedAt.Sub(s.released)
	}
	s.grants, s.released = append(s.grants, one), time.Time{}
	if !s.passes(number) {
		return "old"
	}
	elements := make([]string, 0, len(s.set)+1)
	elements = append(elements, "set")
	for element := range s.set {
		elements = append(elements, element)
	}
	return strings.Join(elements, " ")
}

func (s *storage) write(number uint64, addition string, elements []string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.acknowledged) >= s.wanted {
		return "over"
	}
	if !s.passes(number) {
		return "old"
	}
	s.set = map[string]bool{addition: true}
	for _, element := range elements {
		s.set[element] = true
	}
	s.acknowledged = append(s.acknowledged, addition)
	if len(s.acknowledged) == s.wanted {
		close(s.over)
	}
	return "ok"
}

// lost is how many additions were acknowledged and are not in the set.
func (s *storage) lost() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := 0
	for _, addition := range s.acknowledged {
		if !s.set[addition] {
			count++
		}
	}
	return count
}

// grantsSince are the grants that clients have told of, from a moment on.
func (s *storage) grantsSince(moment time.Time) []grant {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var since []grant
	for _, one := range s.grants {
		if one.at.After(moment) {
			since = append(since, one)
		}
	}
	return since
}

func numberOf(word string) uint64 {
	number, _ := strconv.ParseUint(word, 10, 64)
	return number
}

// timeOf a word of nanoseconds: the clients are on the same machine.
func timeOf(word string) time.Time {
	nanoseconds, _ := strconv.ParseInt(word, 10, 64)
	return time.Unix(0, nanoseconds)
}
