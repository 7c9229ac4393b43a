package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
)

// Wire is one connection of its own to a server, after its handshake, that carries
// any message of MCP as it was written: results and errors come back byte for byte
// (but for a credential of the server's own that an error, or its log, repeats), and
// nothing that a server says is taken for more than it is. It has no clocks
// beside those of the handshake: its user brings deadlines.
//
// What it changes of a message is what belongs to the connection: ids, progress
// tokens, subscription ids, and what each era wants in _meta and in headers.
// Notifications of cancel are its own on either side: ctx brings them.
type Wire struct {
	client   *Client
	peer     *peer
	conn     *conn
	modern   bool
	version  []byte   // JSON
	greeting Greeting // both members are set
	events   Events
	repeats  repeats
	heard    atomic.Int64

	life    context.Context // of what the server asks; ends with the connection
	leave   context.CancelFunc
	errands errands

	inbox   inbox
	closing atomic.Bool   // by us
	opened  chan struct{} // closed once Open is through
	ended   sync.Once     // told of
}

// Modern says that the server speaks the later era (2026-07-28).
func (w *Wire) Modern() bool { return w.modern }

// Document is the server's answer to the handshake: the result of initialize, or of
// server/discover.
func (w *Wire) Document() json.RawMessage { return w.conn.link.opening().document(w.modern) }

// Heard counts the messages that have come from the server.
func (w *Wire) Heard() int64 { return w.heard.Load() }

// Gone is closed when the connection can carry nothing any more. Over HTTP that is
// after Close only: there a request finds out whether the server is there.
func (w *Wire) Gone() <-chan struct{} { return w.conn.link.gone() }

// Why is why the connection is gone; nil: it is not. A child's last words are with it.
func (w *Wire) Why() *router.CallError {
	select {
	case <-w.conn.link.gone():
	default:
		return nil
	}
	if s, ok := w.conn.link.(*stdio); ok {
		return w.peer.secrets.mask(s.death(false))
	}
	return notSent(router.Transport, errClosed.Error(), errClosed)
}

// Do makes one request. The error is what became of it where the server gave no
// answer of its own; a version that the server refuses is one as well, since it is
// the connection's. When ctx ends the server is told, as its era and transport want
// it. No callback of r runs any more once Do has returned.
func (w *Wire) Do(ctx context.Context, r *Request) (reply Reply, e *router.CallError) {
	l, overHTTP := w.conn.link.(*httpLink)
	if !overHTTP {
		return w.Start(ctx, r)()
	}
	defer w.mend(&reply, &e)
	d, e := w.draft(ctx, r)
	if e != nil {
		return Reply{}, e
	}
	defer w.inbox.found(d.id, d.sought)
	reply, e = w.overHTTP(d.ctx, l, d.exchange, d.sought, d.data, w.headers(d.ctx, r.Method, d.params))
	return w.sum(d, reply, e)
}

// Punctual says that Start may be used: a request waits for nobody but the server, and
// for that no longer than its ctx. Over HTTP that is up to others, too.
func (w *Wire) Punctual() bool { return !w.conn.http }

// Start is Do in two halves, of which the first does not wait: where the server has room
// for the request it has left when Start returns. wait, which is to be called, does the
// rest.
func (w *Wire) Start(ctx context.Context, r *Request) (wait func() (Reply, *router.CallError)) {
	var d *draft
	var p *piped
	var reply Reply
	var e *router.CallError
	func() {
		defer w.mend(&reply, &e)
		if d, e = w.draft(ctx, r); e == nil {
			p = w.conn.link.(*stdio).begin(d.exchange, append(d.data, '\n'), d.sought.leaves)
		}
	}()
	if e != nil {
		return func() (Reply, *router.CallError) { return reply, e }
	}
	return func() (reply Reply, e *router.CallError) {
		defer w.mend(&reply, &e)
		defer w.inbox.found(d.id, d.sought)
		a, e := p.wait(d.ctx)
		if e == nil {
			reply, e = a.whole.reply()
		}
		return w.sum(d, reply, e)
	}
}

// draft is a request that is ready to leave.
type draft struct {
	id       int64
	request  *Request
	ctx      context.Context
	exchange *exchange
	sought   *sought
	params   []byte
	data     []byte // the whole message
}

// draft writes a request, and has the inbox look out for what belongs to it.
func (w *Wire) draft(ctx context.Context, r *Request) (*draft, *router.CallError) {
	if r.Method == string(protocol.MethodInitialize) {
		return nil, notSent(router.CapabilityMismatch, "the handshake is done", nil)
	}
	if w.modern && w.conn.http && !fitsHeader(r.Method) {
		return nil, notSent(router.CapabilityMismatch, "the method's name "+quote(r.Method)+" cannot be repeated in a header", nil)
	}
	d := &draft{id: w.conn.ids.Add(1), request: r}
	var e *router.CallError
	if d.params, e = w.params(d.id, r); e != nil {
		return nil, e
	}
	var err error
	if d.data, err = encode(strconv.AppendInt(nil, d.id, 10), r.Method, d.params); err != nil {
		return nil, notSent(router.CapabilityMismatch, "the request has no JSON form", err)
	}
	d.ctx, d.exchange = withExchange(ctx, d.id)
	d.sought = w.inbox.seek(d.id, r)
	return d, nil
}

// sum is the outcome of a request for who made it. The server is told where it may
// still work on what nobody waits for.
func (w *Wire) sum(d *draft, reply Reply, e *router.CallError) (Reply, *router.CallError) {
	if e != nil {
		if !(w.conn.http && w.modern) && e.Execution == state.Unknown && d.exchange.flight.owesNotice() {
			w.conn.sayCancelled(d.id, e.Message)
		}
		return Reply{}, e
	}
	if reply.Error != nil {
		reply.Error = w.unshown(reply.Error)
	}
	if w.modern && w.conn.http && d.request.Method == string(protocol.MethodToolsList) && reply.Error == nil {
		w.repeats.learn(d.params, reply.Result)
	}
	return reply, nil
}

// mend is deferred: a panic becomes an error, and none shows a secret.
func (w *Wire) mend(reply *Reply, e **router.CallError) {
	if p := recover(); p != nil {
		*reply, *e = Reply{}, recovered(p)
	}
	if *e != nil {
		*e = w.peer.secrets.mask(*e)
	}
}

// Notify sends a message that has no answer.
func (w *Wire) Notify(ctx context.Context, n Notification) error {
	if len(n.Params) > 0 && !json.Valid(n.Params) {
		return notSent(router.CapabilityMismatch, "the notification's parameters are no JSON", nil)
	}
	data, err := encode(nil, n.Method, oneLine(n.Params))
	if err != nil {
		return notSent(router.CapabilityMismatch, "the notification has no JSON form", err)
	}
	if e := w.post(ctx, w.conn.link, n.Method, data); e != nil {
		return w.peer.secrets.mask(e)
	}
	return nil
}

// post sends a message that has no answer; method is a notification's, "" for an
// answer of ours.
func (w *Wire) post(ctx context.Context, over link, method string, data []byte) *router.CallError {
	switch l := over.(type) {
	case *stdio:
		return l.enqueue(ctx, &frame{data: append(data, '\n')})
	case *httpLink:
		header := http.Header{}
		if method != "" {
			header = w.conn.headers(method, "")
		}
		if err := l.reply(ctx, data, header); err != nil {
			e := notSent(router.Transport, "the message could not be sent: "+excerpt(err.Error()), err)
			return sessionSecret(l.GetSessionId()).mask(e)
		}
	}
	return nil
}

// Ping asks for a sign of life: ping, in the later era server/discover. Any answer is
// one.
func (w *Wire) Ping(ctx context.Context) *router.CallError {
	method := protocol.MethodPing
	if w.modern {
		method = protocol.MethodServerDiscover
	}
	if _, e := w.Do(ctx, &Request{Method: string(method), Params: json.RawMessage(`{}`)}); e != nil {
		e.Execution = state.NotExecuted // it has no effect
		return e
	}
	return nil
}

// Close ends the connection; when ctx ends first, by force. Requests under way fail.
func (w *Wire) Close(ctx context.Context) {
	select {
	case <-w.conn.link.gone():
	default:
		w.closing.Store(true)
	}
	w.end(ctx)
}

// end clears up, whoever brought the end about, and tells of it once.
func (w *Wire) end(ctx context.Context) {
	w.leave()
	w.conn.end(ctx, true)
	w.errands.Wait()
	w.ended.Do(func() {
		w.client.mu.Lock()
		delete(w.client.wires, w)
		w.client.mu.Unlock()
		if w.closing.Load() {
			w.peer.becomes(Closed)
		} else {
			w.peer.becomes(Lost)
		}
	})
}
