package redistest

import (
	"bufio"
	"net"
	"sync"
)

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	closed         chan struct{}
	waiting        []bool // requests without a reply yet: is it to be lost? Guarded by proxy.mu
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		l.client.Close()
		l.server.Close()
	})
}

// pass moves frames one way until either side is gone.
func (l *link) pass(from *bufio.Reader, to net.Conn, look func(frame) bool) {
	defer l.close()
	for {
		f, err := readFrame(from)
		if err != nil || !l.flow() || !look(f) {
			return
		}
		if _, err := to.Write(f); err != nil {
			return
		}
	}
}

// flow waits while bytes are held and says whether the link still stands.
func (l *link) flow() bool {
	l.proxy.mu.Lock()
	held := l.proxy.held
	l.proxy.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-l.closed:
		return false
	}
}

// asked decides on the reply's fate when its request passes.
func (l *link) asked(f frame) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	lose := l.proxy.drop > 0 && f.runsScript()
	if lose {
		l.proxy.drop--
	}
	l.waiting = append(l.waiting, lose)
	return true
}

// answered reports whether the reply may pass.
func (l *link) answered(f frame) bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	if f.pushed() || len(l.waiting) == 0 {
		return true
	}
	lose := l.waiting[0]
	l.waiting = l.waiting[1:]
	if lose && f.unknownScript() {
		l.proxy.drop++
		return true
	}
	if lose {
		l.proxy.dropped++
	}
	return !lose
}
