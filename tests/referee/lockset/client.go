package lockset

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// lock is one client's way to the lock of one system.
type lock interface {
	// acquire waits until the client holds the lock. The number is larger than all before it, or 0 in a system without such numbers.
	acquire() (number uint64, err error)
	// renew prolongs the lease of a lock that is held, or what a waiting client needs to be kept. It does nothing if there is none.
	// It runs beside the other two.
	renew()
	release() error
}

// ttl of all leases. Clients renew them after a third of it.
const ttl = 2 * time.Second

// rest of a client after a release, shorter than the turns of the others: without it, a client that asks again at once always wins in
// a system without a queue.
const rest = 20 * time.Millisecond

// client is one process: it acquires the lock, reads the set, works, writes the set with one addition, and releases the lock.
type client struct {
	number  int
	lock    lock
	work    time.Duration
	storage net.Conn
	answers *bufio.Reader
}

// RunClient is the whole life of the process of a client: it ends when the storage says that the run is over, or is gone.
func RunClient(system string, addresses []string, storageAddress string, number int, work time.Duration) error {
	connection, err := net.Dial("tcp", storageAddress)
	if err != nil {
		return err
	}
	defer connection.Close()
	made, err := newLock(system, addresses, number)
	if err != nil {
		return err
	}
	c := &client{number, made, work, connection, bufio.NewReader(connection)}
	if _, err := fmt.Fprintf(connection, "client %d\n", number); err != nil {
		return err
	}
	go func() {
		for range time.Tick(ttl / 3) {
			c.lock.renew()
		}
	}()
	for addition := 0; ; addition++ {
		isOver, err := c.add(fmt.Sprintf("%d-%d", number, addition))
		if isOver || err != nil {
			return err
		}
	}
}

// add is one turn. An error is one of the storage.
func (c *client) add(addition string) (isOver bool, err error) {
	number, err := c.lock.acquire()
	if err != nil {
		time.Sleep(50 * time.Millisecond)
		return false, nil
	}
	answer, err := c.ask(fmt.Sprintf("read %d %d", number, time.Now().UnixNano()))
	if err != nil {
		return false, err
	}
	if strings.HasPrefix(answer, "set") {
		time.Sleep(c.work)
		elements := strings.TrimPrefix(answer, "set")
		if answer, err = c.ask(fmt.Sprintf("write %d %s%s", number, addition, elements)); err != nil || answer == "over" {
			return true, err
		}
	}
	if _, err := fmt.Fprintf(c.storage, "released %d\n", time.Now().UnixNano()); err != nil {
		return false, err
	}
	_ = c.lock.release()
	time.Sleep(rest)
	return false, nil
}

func (c *client) ask(line string) (string, error) {
	if _, err := fmt.Fprintln(c.storage, line); err != nil {
		return "", err
	}
	answer, err := c.answers.ReadString('\n')
	return strings.TrimRight(answer, "\n"), err
}

// held is the name of a lease that is held, for renewals beside it.
type held struct {
	mutex sync.Mutex
	name  string
}

func (h *held) set(name string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.name = name
}

func (h *held) get() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.name
}
