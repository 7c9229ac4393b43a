package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// scripted is a server for a line, whose sessions do as a test says.
type scripted struct {
	t *testing.T

	mu       sync.Mutex
	attempts []time.Time
	refuse   func(attempt int) *router.CallError // the nth, from 1; nil: it connects
	prepare  func(*stand)                        // a new session
	sessions []*stand
}

// stand is one session with a scripted server.
type stand struct {
	server *scripted
	began  time.Time
	gone   chan struct{}
	pings  int

	mu     sync.Mutex
	why    *router.CallError
	heard  int64
	sent   []*sending // in the order in which they entered Do
	noted  []string
	closed []time.Time

	auto   bool                                        // answers by itself
	deaf   bool                                        // Do and Ping return only when it is closed
	linger time.Duration                               // Do returns so long after its end
	polite bool                                        // Close waits as long as it may
	stuck  chan struct{}                               // Close returns only when it is closed
	slow   func(*sending)                              // runs within Do before it says that it was sent
	full   bool                                        // what is cancelled had not left
	ping   func(ctx context.Context) *router.CallError // nil: answers
}

// sending is a request that entered Do.
type sending struct {
	method string
	at     time.Time
	ctx    context.Context
	begun  error // of ctx when it entered
	answer chan fate

	end  fate // of Do
	over time.Time
}

type fate struct {
	reply mcp.Reply
	err   *router.CallError
}

func (s *scripted) dial(ctx context.Context, _ mcp.Events) (Session, *router.CallError) {
	s.mu.Lock()
	s.attempts = append(s.attempts, time.Now())
	n, refuse := len(s.attempts), s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if e := refuse(n); e != nil {
			return nil, e
		}
	}
	if ctx.Err() != nil {
		return nil, failure(router.Transport, state.NotExecuted, "too late")
	}
	v := &stand{server: s, began: time.Now(), gone: make(chan struct{})}
	if s.prepare != nil {
		s.prepare(v)
	}
	s.mu.Lock()
	s.sessions = append(s.sessions, v)
	s.mu.Unlock()
	return v, nil
}

// all are the sessions there were so far.
func (s *scripted) all() []*stand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// refuses says which attempts fail from now on.
func (s *scripted) refuses(f func(attempt int) *router.CallError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

func (s *scripted) tried() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// session waits until all is quiet and returns the nth session, from 1.
func (s *scripted) session(n int) *stand {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) < n {
		s.t.Fatalf("there were %d sessions, want %d", len(s.sessions), n)
	}
	return s.sessions[n-1]
}

// after waits until another session follows the nth, and until all is quiet.
func (s *scripted) after(n int) *stand {
	s.t.Helper()
	for range 10_000 {
		s.mu.Lock()
		have := len(s.sessions)
		s.mu.Unlock()
		if have > n {
			return s.session(n + 1)
		}
		pass(10 * time.Millisecond)
	}
	s.t.Fatalf("no session followed the %dth", n)
	return nil
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }

func (v *stand) Do(ctx context.Context, r *mcp.Request) (mcp.Reply, *router.CallError) {
	return v.Start(ctx, r)()
}

// Start has the request leave at once, unless it is slow.
func (v *stand) Start(ctx context.Context, r *mcp.Request) (wait func() (mcp.Reply, *router.CallError)) {
	c := &sending{method: r.Method, at: time.Now(), ctx: ctx, begun: ctx.Err(), answer: make(chan fate, 1)}
	v.mu.Lock()
	v.sent = append(v.sent, c)
	v.mu.Unlock()
	sent := func() {
		if r.Sent != nil {
			r.Sent()
		}
	}
	if v.slow == nil {
		sent()
	}
	return func() (mcp.Reply, *router.CallError) {
		if v.slow != nil {
			v.slow(c)
			sent()
		}
		reply, e := v.serve(c)
		v.mu.Lock()
		defer v.mu.Unlock()
		c.end, c.over = fate{reply, e}, time.Now()
		return c.end.reply, c.end.err
	}
}

// serve waits for what becomes of a request.
func (v *stand) serve(c *sending) (mcp.Reply, *router.CallError) {
	if v.auto {
		v.hear()
		return says(c.method).reply, nil
	}
	over := c.ctx.Done()
	if v.deaf {
		over = nil
	}
	select {
	case o := <-c.answer:
		v.hear()
		return o.reply, o.err
	case <-v.gone:
		select {
		case o := <-c.answer:
			return o.reply, o.err
		default:
		}
		if v.linger > 0 {
			pass(v.linger)
		}
		return mcp.Reply{}, failure(router.Transport, state.Unknown, "reset")
	case <-over:
		if v.full {
			return mcp.Reply{}, failure(router.Cancelled, state.NotExecuted, "cancelled")
		}
		return mcp.Reply{}, failure(router.Cancelled, state.Unknown, "cancelled")
	}
}

func (v *stand) Notify(_ context.Context, n mcp.Notification) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noted = append(v.noted, fmt.Sprintf("%s after %d", n.Method, len(v.sent)))
	return nil
}

func (v *stand) Ping(ctx context.Context) *router.CallError {
	v.mu.Lock()
	v.pings++
	v.mu.Unlock()
	switch {
	case v.deaf:
		<-v.gone
		return failure(router.Transport, state.NotExecuted, "closed")
	case v.ping != nil:
		return v.ping(ctx)
	}
	v.hear()
	return nil
}

func (v *stand) hear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard++
}

func (v *stand) Heard() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.heard
}

// Punctual is what it says before it is in use.
func (v *stand) Punctual() bool { return !v.deaf }

func (v *stand) Modern() bool              { return false }
func (v *stand) Document() json.RawMessage { return nil }
func (v *stand) Gone() <-chan struct{}     { return v.gone }

func (v *stand) Why() *router.CallError {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.why
}

func (v *stand) Close(ctx context.Context) {
	v.mu.Lock()
	v.closed = append(v.closed, time.Now())
	v.mu.Unlock()
	if v.polite {
		<-ctx.Done()
	}
	if v.stuck != nil {
		<-v.stuck
	}
	v.die("closed")
}

// die ends the connection.
func (v *stand) die(why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.why == nil {
		v.why = failure(router.Transport, state.Unknown, why)
		close(v.gone)
	}
}

// methods are those of the requests that entered, in order.
func (v *stand) methods() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []string
	for _, c := range v.sent {
		all = append(all, c.method)
	}
	return all
}

// entered are copies of the requests that entered, in order.
func (v *stand) entered() []sending {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []sending
	for _, c := range v.sent {
		all = append(all, *c)
	}
	return all
}

// of is the last request of that method.
func (v *stand) of(method string) *sending {
	v.server.t.Helper()
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range slices.Backward(v.sent) {
		if c.method == method {
			return c
		}
	}
	v.server.t.Fatalf("%s was not sent", method)
	return nil
}

func says(text string) fate {
	return fate{reply: mcp.Reply{Result: json.RawMessage(fmt.Sprintf("%q", text))}}
}

func failure(code router.Code, x state.Execution, message string) *router.CallError {
	return &router.CallError{Code: code, Execution: x, Message: message}
}

var refusal = failure(router.Transport, state.NotExecuted, "connection refused")

// always refuses every attempt with e.
func always(e *router.CallError) func(int) *router.CallError {
	return func(int) *router.CallError { return e }
}

// lineTo opens a line to a scripted server, and closes it after the test.
func lineTo(t *testing.T, o *LineOptions) (*Line, *scripted) {
	s := &scripted{t: t}
	if o.Name == "" {
		o.Name = "docs"
	}
	if o.Backoff.Seed == 0 {
		o.Backoff.Seed = 1
	}
	l := NewLine(s.dial, o)
	t.Cleanup(func() { l.Close(context.Background()) })
	return l, s
}
