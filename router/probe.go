package router

import (
	"context"
	"time"
)

// ProbeOptions say how servers are probed in the background (R9). A probe calls the tool
// of a capability with the offer's [Offer.Probe]; where none is declared, or the tool is
// not safe, the server is pinged, which says that it lives.
//
//   - None is made where a call has succeeded in the last interval, and one that fails
//     while a call succeeds is no strike: traffic is proof.
//   - Strikes in a row eject the server from the capability; the first success, of a
//     probe or of a call, ends that, and a slow start follows.
//   - A server that knows it needs longer, by what it declares, by its calls and by its
//     probes, is given twice that. One of which nothing is known is given twice as long
//     after each timeout, up to a minute. One that never answered even so is given
//     a call every ten minutes: what is slow is never out for good.
//   - Probes run beside calls, 32 at once at most, one to a server, none to one that is
//     at its declared concurrency or asked to be left alone.
//
// Only servers that a hop, or [Router.Servers], has asked before are probed, unless All
// says otherwise: none is started for the sake of its health.
type ProbeOptions struct {
	Every   time.Duration // between two probes, by a fifth more or less; 0: none are made
	Timeout time.Duration // 5 s
	Strikes int           // 3
	After   time.Duration // none before the router is that old
	All     bool          // servers that nobody has asked yet are asked
}

// Pinger is a [Caller] that can ask a server whether it lives, at the cost of as little as
// there can be. ctx bounds it. Every error is a *CallError.
type Pinger interface {
	Ping(ctx context.Context, s *Server) error
}

// ProbeObserver is an [Observer] that is told of probes, on a goroutine of their own. It
// must not block.
type ProbeObserver interface {
	OnProbe(server string, well bool)
}

// Ways to find out how a server is.
const (
	ByTool      = "tool"      // the capability's, with the offer's minimal arguments
	ByPing      = "ping"      // ping or server/discover
	ByHandshake = "handshake" // where there is no connection
	ByCall      = "call"      // one that succeeded: no probe was needed
)

// ProbeReading is what the last probe of a server's capability found.
type ProbeReading struct {
	At    time.Time // its end; zero: there was none
	Took  time.Duration
	By    string
	Fault string // what was wrong; "": nothing
}

// Well reports whether there was a probe that found nothing wrong.
func (p ProbeReading) Well() bool { return !p.At.IsZero() && p.Fault == "" }

// String is "ok", what was wrong, or "" where there was no probe.
func (p ProbeReading) String() string {
	if p.Well() {
		return "ok"
	}
	return p.Fault
}

func (o ProbeOptions) withDefaults() ProbeOptions {
	o.Timeout = orDefault(o.Timeout, 5*time.Second)
	if o.Strikes <= 0 {
		o.Strikes = 3
	}
	return o
}
