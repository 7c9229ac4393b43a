package redis

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// The client gives a context's deadline to the connection it uses, but does not
// look at a context that is cancelled while it reads: a caller would wait for a
// server that hangs. A goroutine for each call would help and cost a call as
// much again as Redis does. So every call gets a deadline of its own, by which
// the connection that is told of it knows whose it is, and a cancel ends the
// reading.

// flights are the calls under way, by their deadlines. The zero value is ready.
type flights struct {
	timed bool // a call ends at its deadline by itself, whatever it waits for
	mu    sync.Mutex
	open  map[int64]*flight // by deadline, Unix ns
}

// flight is a call under way.
type flight struct {
	mu          sync.Mutex
	interrupted bool
	conns       []*watched // that it was told to use, mostly one
}

// fly gives a call its deadline, within that of ctx, and what ends it early. The
// caller lands when the call is over.
func (f *flights) fly(ctx context.Context, timeout time.Duration) (each context.Context, land func()) {
	end := time.Now().Add(timeout)
	if outer, ok := ctx.Deadline(); ok && !end.Before(outer) {
		end = outer.Add(-1)
	}
	call := &flight{}
	f.mu.Lock()
	if f.open == nil {
		f.open = map[int64]*flight{}
	}
	for f.open[end.UnixNano()] != nil {
		end = end.Add(-1)
	}
	key := end.UnixNano()
	f.open[key] = call
	f.mu.Unlock()
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, call.interrupt)
	}
	each, cancel := context.Context(deadlined{ctx, end}), func() {}
	if f.timed {
		each, cancel = context.WithDeadline(ctx, end)
	}
	return each, func() {
		stop()
		cancel()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, key)
	}
}

// deadlined is a context with a deadline that only connections keep: a timer for
// each call, which nearly always is stopped at once, would wake a thread that waits.
type deadlined struct {
	context.Context
	end time.Time
}

func (d deadlined) Deadline() (time.Time, bool) { return d.end, true }

func (f *flights) find(deadline time.Time) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[deadline.UnixNano()]
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// interrupt ends what the call reads and writes. Its connections are of no use
// afterwards; the client closes them.
func (c *flight) interrupt() {
	c.mu.Lock()
	c.interrupted = true
	conns := c.conns
	c.mu.Unlock()
	for _, w := range conns {
		w.cut(c)
	}
}

// takes notes a connection and says whether it is too late for it.
func (c *flight) takes(w *watched) (late bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.conns); n == 0 || c.conns[n-1] != w {
		c.conns = append(c.conns, w)
	}
	return c.interrupted
}

// watched is a connection that knows whose call it serves.
type watched struct {
	net.Conn
	flights *flights
	mu      sync.Mutex
	call    *flight
}

// watchedTCP lets the client look, before it uses the connection, whether the
// other side has gone.
type watchedTCP struct {
	*watched
	syscall.Conn
}

func (f *flights) watch(conn net.Conn) net.Conn {
	w := &watched{Conn: conn, flights: f}
	if raw, ok := conn.(syscall.Conn); ok {
		return watchedTCP{w, raw}
	}
	return w
}

// serve sets a deadline of the call it belongs to, by set.
func (w *watched) serve(t time.Time, set func(time.Time) error) error {
	call := w.flights.find(t)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call = call
	if call != nil && call.takes(w) {
		t = past
	}
	return set(t)
}

// cut ends reading and writing, if the connection still serves this call. That
// it cannot be told so any more means that it is closed.
func (w *watched) cut(call *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == call {
		_ = w.Conn.SetDeadline(past)
	}
}

// SetDeadline implements [net.Conn].
func (w *watched) SetDeadline(t time.Time) error { return w.serve(t, w.Conn.SetDeadline) }

// SetReadDeadline implements [net.Conn].
func (w *watched) SetReadDeadline(t time.Time) error { return w.serve(t, w.Conn.SetReadDeadline) }

// SetWriteDeadline implements [net.Conn].
func (w *watched) SetWriteDeadline(t time.Time) error { return w.serve(t, w.Conn.SetWriteDeadline) }
