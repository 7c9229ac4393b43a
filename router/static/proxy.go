package static

import (
	"time"

	"junction/state/document"
)

// Proxy is what the file says of how a bridge keeps its servers. Zero is unsaid: the
// bridge's default.
type Proxy struct {
	PingInterval time.Duration // below 0: no heartbeat
	PingTimeout  time.Duration
	Queue        int // requests that wait for one server
	Wait         time.Duration
}

const mostQueued = 100_000

func proxy(n *document.Node) Proxy {
	m := n.Mapping("ping_interval", "ping_timeout", "queue", "wait")
	p := Proxy{PingTimeout: span(m.Get("ping_timeout")), Queue: int(m.Get("queue").Int(1, mostQueued)), Wait: span(m.Get("wait"))}
	if every := m.Get("ping_interval"); every != nil && every.Value() == int64(0) {
		p.PingInterval = -1
	} else {
		p.PingInterval = span(every)
	}
	return p
}

// span is a length of time, of which a bare number is milliseconds (R37).
func span(n *document.Node) time.Duration {
	if n != nil && n.Kind == document.Number {
		return time.Duration(n.Int(1, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
	}
	return n.Duration()
}
