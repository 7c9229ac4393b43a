package redistest

import (
	"bufio"
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Proxy stands between a client and a server without TLS and does what networks
// do. Handshakes and pipelines pass it unharmed.
type Proxy struct {
	t      testing.TB
	target string
	addr   string
	done   sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	links    map[*link]bool
	drop     int           // replies of scripts still to be lost
	dropped  int           // replies of scripts lost
	held     chan struct{} // closed when bytes flow; nil: they flow
}

// NewProxy listens on a free port until the test ends and passes everything on
// to target, a host:port.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	at, err := reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target, addr: aside(at.number), links: map[*link]bool{}}
	p.Accept()
	t.Cleanup(func() {
		p.Refuse()
		p.done.Wait()
		if err := at.giveBack(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// aside is an address where nobody else listens, also while the proxy refuses: on
// Linux all of 127/8 is this machine's, and others keep to its first address.
func aside(port int) string {
	if runtime.GOOS != "linux" {
		return hostPort(port)
	}
	return net.JoinHostPort("127.0.0.3", strconv.Itoa(port))
}

// Addr returns host:port.
func (p *Proxy) Addr() string { return p.addr }

// Address returns the URL of the server behind the proxy.
func (p *Proxy) Address() string { return "redis://" + p.addr }

// DropReplies loses the replies to the next n scripts: the server runs them, and
// instead of the reply the client sees its connection close. A script that the
// server does not know yet has not run and does not count.
func (p *Proxy) DropReplies(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = n
}

// Dropped returns how many replies were lost so far.
func (p *Proxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Cut closes all connections; new ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Hold stalls all bytes, also of new connections, until Release.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = make(chan struct{})
	}
}

// Release lets bytes flow again, those held first.
func (p *Proxy) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
}

// Refuse closes all connections and refuses new ones until Accept.
func (p *Proxy) Refuse() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for l := range p.links {
		l.close()
	}
}

// Accept ends Refuse, on the same port.
func (p *Proxy) Accept() {
	p.t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(p.t.Context(), "tcp", p.addr)
	if err != nil {
		p.t.Fatalf("proxy: %v", err)
	}
	p.serve(l)
}

func (p *Proxy) serve(l net.Listener) {
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	p.done.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed by Refuse
			}
			p.connect(l, client)
		}
	})
}

// connect joins a client to the server, unless the listener was closed since.
func (p *Proxy) connect(from net.Listener, client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(p.t.Context(), "tcp", p.target)
	if err != nil {
		client.Close() // the server is down: to the client, so are we
		return
	}
	l := &link{proxy: p, client: client, server: server, closed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != from {
		l.close()
		return
	}
	p.links[l] = true
	p.done.Go(func() { l.pass(bufio.NewReader(client), server, l.asked) })
	p.done.Go(func() {
		l.pass(bufio.NewReader(server), client, l.answered)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	})
}
