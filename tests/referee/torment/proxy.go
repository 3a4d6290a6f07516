package torment

import (
	"math/rand"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy stands between clients and one door. Everything passes at once, unless it is told otherwise.
type Proxy struct {
	listener net.Listener
	target   string
	// Slow is the longest time in milliseconds that a piece is kept. Swallows: the n-th answer of each n is lost, 0: none. The server
	// has sent it, and nothing more comes on that connection.
	Slow, Swallows atomic.Int64
	answers        atomic.Int64 // of all connections

	mutex sync.Mutex
	pairs map[*pair]bool
}

type pair struct {
	client, server net.Conn
	isAsked        atomic.Bool // the next piece from the server begins an answer
}

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

// NewProxy listens on a free port.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, target: target, pairs: map[*pair]bool{}}
	go p.accept()
	return p, nil
}

// Address is where clients connect.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for some := range p.pairs {
		some.close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, 3*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	joined := &pair{client: client, server: server}
	p.mutex.Lock()
	p.pairs[joined] = true
	p.mutex.Unlock()
	var group sync.WaitGroup
	group.Add(2)
	go func() {
		defer group.Done()
		p.forward(client, server, func() bool { joined.isAsked.Store(true); return true })
		joined.close()
	}()
	go func() {
		defer group.Done()
		p.forward(server, client, func() bool { return !joined.isAsked.Swap(false) || !p.isLost() })
		joined.close()
	}()
	group.Wait()
	p.mutex.Lock()
	delete(p.pairs, joined)
	p.mutex.Unlock()
}

// isLost counts an answer.
func (p *Proxy) isLost() bool {
	each := p.Swallows.Load()
	return each > 0 && p.answers.Add(1)%each == 0
}

// forward passes pieces on, until `passes` refuses one. What comes after that is read and thrown away, until the client gives up.
func (p *Proxy) forward(from, to net.Conn, passes func() bool) {
	piece := make([]byte, 64*1024)
	isOpen := true
	for {
		size, err := from.Read(piece)
		if err != nil {
			return
		}
		if slow := p.Slow.Load(); slow > 0 {
			time.Sleep(time.Duration(rand.Int63n(slow)) * time.Millisecond)
		}
		if isOpen = isOpen && passes(); !isOpen {
			continue
		}
		if _, err := to.Write(piece[:size]); err != nil {
			return
		}
	}
}
