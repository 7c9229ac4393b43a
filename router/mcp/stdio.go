package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// stdio is a transport of mcp-go over a child's standard streams. Unlike
// mcp-go's own, a message waits in a queue with its caller's context: a child
// that does not read holds up nobody beyond their clocks, and what was still
// queued when a call ended provably did not execute.
type stdio struct {
	child *child
	limit int
	start opening
	out   *outlet
	dead  chan struct{} // closed when nothing more will be read
	cause error         // why, readable once dead is closed
	deaf  atomic.Bool   // the child closed its input
	wire  *Wire         // that takes in all the child says; nil: there is none

	asked *requests

	mu     sync.Mutex
	notify func(protocol.JSONRPCNotification)
	serve  transport.RequestHandler
}

type answer struct {
	resp  *transport.JSONRPCResponse
	whole *envelope // the same as it was written, for a wire
	err   *router.CallError
}

var (
	_ link                             = (*stdio)(nil)
	_ transport.BidirectionalInterface = (*stdio)(nil)
)

func newStdio(ch *child, limit int, t *tally, w *Wire) *stdio {
	s := &stdio{
		child: ch, limit: limit, asked: newRequests(t), wire: w,
		dead: make(chan struct{}),
	}
	s.out = newOutlet(ch.stdin, s.dead, s.giveUp)
	go s.out.run()
	go s.read()
	return s
}

// Start does nothing: the child runs already.
func (s *stdio) Start(context.Context) error { return nil }

// SendRequest makes one exchange. Its error is a *router.CallError.
func (s *stdio) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	req, err := s.start.admit(req)
	if err != nil {
		return nil, err
	}
	resp, failure := s.exchange(ctx, req)
	if failure == nil {
		resp, failure = conclude(req, resp)
	}
	s.start.observe(req.Method, resp, failure)
	if failure != nil {
		return nil, failure
	}
	return resp, nil
}

func (s *stdio) exchange(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, *router.CallError) {
	id, ok := req.ID.Value().(int64)
	data, err := json.Marshal(req)
	if err != nil || !ok {
		return nil, notSent(router.Transport, fmt.Sprintf("the request has no JSON form: %v", err), err)
	}
	ctx, ex := withExchange(ctx, id)
	a, e := s.carry(ctx, ex, append(data, '\n'))
	return a.resp, e
}

// carry makes an exchange with a line that is ready.
func (s *stdio) carry(ctx context.Context, ex *exchange, line []byte) (answer, *router.CallError) {
	return s.begin(ex, line, nil).wait(ctx)
}

// piped is an exchange that was begun.
type piped struct {
	link   *stdio
	id     int64
	flight *flight
	reply  chan answer // has room for the one
	out    *frame
	placed func() // told when the line has its place; nil: nobody, or it was
	away   bool   // the line has it
}

// begin begins an exchange without waiting: where the child has room the line has left.
// placed, which may be nil, is told when it has its place among those that go to the
// child. The wait that follows must be called.
func (s *stdio) begin(ex *exchange, line []byte, placed func()) *piped {
	p := &piped{link: s, id: ex.id, flight: ex.flight, reply: make(chan answer, 1), placed: placed}
	p.out = &frame{data: line, flight: p.flight}
	s.asked.add(p.id, p.flight, p.reply)
	if s.alive() && s.out.now(p.out) {
		p.place()
	}
	return p
}

func (p *piped) place() {
	if p.away = true; p.placed != nil {
		p.placed()
	}
}

// wait waits for the answer.
func (p *piped) wait(ctx context.Context) (answer, *router.CallError) {
	s, f := p.link, p.flight
	defer func() { s.asked.end(p.id, f.settle()) }()
	if !p.away {
		if e := s.enqueue(ctx, p.out); e != nil {
			return answer{}, e
		}
		p.place()
	}
	select {
	case a := <-p.reply:
		return a, a.err
	case <-ctx.Done():
	case <-s.dead:
	}
	switch f.settle() {
	case completed: // first: the result stands, and is being handed over
		a := <-p.reply
		return a, a.err
	case failed:
		return answer{}, s.death(f.left() && !p.out.refused.Load())
	}
	return answer{}, f.ended(f.left())
}

func (s *stdio) alive() bool {
	select {
	case <-s.dead:
		return false
	default:
		return true
	}
}

func (s *stdio) enqueue(ctx context.Context, f *frame) *router.CallError {
	if !s.alive() {
		return s.death(false)
	}
	if s.out.put(f, ctx.Done()) {
		return nil
	}
	if ctx.Err() != nil {
		return ended(ctx, false)
	}
	return s.death(false)
}

// death is the failure of a request that a dead child left behind.
func (s *stdio) death(sent bool) *router.CallError {
	e := unknown(router.Transport, "the server's process ended: "+s.cause.Error(), s.cause)
	if !sent {
		e = notSent(router.Transport, "the server's process has ended: "+s.cause.Error(), s.cause)
	}
	e.Stderr = s.child.stderr.lines()
	return e
}

// SendNotification queues a message that has no answer.
func (s *stdio) SendNotification(ctx context.Context, n protocol.JSONRPCNotification) error {
	data, err := json.Marshal(n)
	if err != nil {
		return notSent(router.Transport, "the notification has no JSON form", err)
	}
	if e := s.enqueue(ctx, &frame{data: append(data, '\n')}); e != nil {
		return e
	}
	return nil
}

// giveUp ends the link to a child that does not read any more: the reader finds
// out why. What the child had said before is still read.
func (s *stdio) giveUp() {
	s.deaf.Store(true)
	if err := s.child.stdout.SetReadDeadline(time.Now().Add(settle)); err != nil {
		s.child.stdout.Close() //nolint:errcheck // not every system has deadlines here
	}
}

// SetNotificationHandler sets who is told of notifications. It must not block.
func (s *stdio) SetNotificationHandler(f func(protocol.JSONRPCNotification)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = f
}

// SetRequestHandler sets who answers the server's requests. It must not block.
func (s *stdio) SetRequestHandler(f transport.RequestHandler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve = f
}

// GetSessionId returns "": a child is its own session.
func (s *stdio) GetSessionId() string { return "" }

// Close ends the child with the default patience.
func (s *stdio) Close() error {
	s.stop(context.Background())
	return nil
}

func (s *stdio) gone() <-chan struct{} { return s.dead }
func (s *stdio) opening() *opening     { return &s.start }
func (s *stdio) requests() *requests   { return s.asked }

func (s *stdio) stop(ctx context.Context) {
	s.child.stop(ctx)
	<-s.dead
}
