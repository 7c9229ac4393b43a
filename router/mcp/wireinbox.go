package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// inbox knows which requests are under way, so that each message finds its own.
type inbox struct {
	mu        sync.Mutex
	requests  map[int64]*sought
	questions map[string]*question // the server's, by its id
	busy      int                  // questions that are open, or whose answer is being sent
	held      int                  // bytes of those that are open
	turned    int                  // refusals, and answers to pings, that are being sent
}

// sought is a request under way.
type sought struct {
	*Request
	sent sync.Once
	mu   sync.Mutex // held while one of its callbacks runs
	over bool       // no callback runs any more
}

func (b *inbox) seek(id int64, r *Request) *sought {
	s := &sought{Request: r}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests == nil {
		b.requests = map[int64]*sought{}
	}
	b.requests[id] = s
	return s
}

// found ends a request for the inbox.
func (b *inbox) found(id int64, s *sought) {
	b.mu.Lock()
	delete(b.requests, id)
	b.mu.Unlock()
	s.ends()
	b.moot(s)
}

// ends lets no callback run any more, and returns when none does.
func (s *sought) ends() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
}

// of is the request with an id as a server wrote it; nil: none is under way.
func (b *inbox) of(raw json.RawMessage) (s *sought, id int64) {
	id, ok := requestID(raw)
	if !ok {
		return nil, 0
	}
	return b.by(id), id
}

// by is the request with an id of ours; nil: none is under way.
func (b *inbox) by(id int64) *sought {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[id]
}

// leaves says that the request has its place among all that goes to the server.
func (s *sought) leaves() {
	if s.Sent != nil {
		s.while(func() { s.sent.Do(s.Sent) })
	}
}

// while runs f unless the request is over.
func (s *sought) while(f func()) (ran bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	f()
	return true
}

// line takes in a line of a child's output; false: it is no message.
func (w *Wire) line(s *stdio, line []byte) bool {
	if id, result, ok := takenApart(line); ok && json.Valid(result) {
		w.answered(s, id, &envelope{ID: strconv.AppendInt(nil, id, 10), Result: result})
		return true
	}
	var m envelope
	if json.Unmarshal(line, &m) != nil {
		return false
	}
	switch {
	case m.Method != "":
		w.take(&m, nil, s)
	case m.ID == nil && m.Result == nil && m.Error == nil:
		// A line of a log, as some servers write them to their output.
	default:
		id, ok := requestID(m.ID)
		if !ok {
			w.heard.Add(1)
			s.asked.tally.add(WrongID)
			break
		}
		w.answered(s, id, &m)
	}
	return true
}

// answered takes in an answer of a child's.
func (w *Wire) answered(s *stdio, id int64, m *envelope) {
	w.heard.Add(1)
	if q := w.inbox.by(id); q != nil {
		q.ends() // what comes after the answer is late
	}
	s.hand(id, answer{whole: m, resp: &transport.JSONRPCResponse{
		JSONRPC: protocol.JSONRPC_VERSION, ID: protocol.NewRequestId(id), Result: m.Result, Error: m.details(),
	}})
}

// take takes in a message that is no answer. own is the request on whose stream it
// came; nil: on none's.
func (w *Wire) take(m *envelope, own *sought, over link) {
	w.heard.Add(1)
	switch {
	case !absent(m.ID):
		w.asked(m, own, over)
	case m.Method == string(protocol.MethodNotificationProgress):
		w.progressed(m, over)
	case m.Method == string(protocol.MethodNotificationCancelled):
		w.inbox.withdrawn(m.Params)
	default:
		w.notified(m, own, over)
	}
}

func (w *Wire) progressed(m *envelope, over link) {
	all, _ := fieldsOf(m.Params)
	s, id := w.inbox.of(valueOf(all, progressToken))
	kind := UnknownToken
	switch {
	case s == nil:
		if over.requests().remembers(id) {
			kind = LateProgress
		}
	case s.Progress == nil:
	case s.while(func() { s.Progress(object(without(all, progressToken))) }):
		return
	default:
		kind = LateProgress
	}
	over.requests().tally.add(kind)
}

// notified passes a notification on. One that names its subscription is of that
// request, and told without the id, which is ours.
func (w *Wire) notified(m *envelope, own *sought, over link) {
	n := Notification{Method: m.Method, Params: m.Params}
	if n.Method == string(protocol.MethodNotificationMessage) { // a log, which may be of what it was shown
		for _, s := range w.shown(over) {
			n.Params = s.unshown(n.Params)
		}
	}
	if w.subscribed(&n, &own) {
		over.requests().tally.add(UnknownToken)
		return
	}
	if own == nil || own.Notify == nil {
		if w.events.Notified != nil {
			w.events.Notified(n)
		}
		return
	}
	if !own.while(func() { own.Notify(n) }) {
		over.requests().tally.add(LateProgress)
	}
}

// subscribed takes the id of a subscription out of n, and finds its request unless
// the stream told it; stray: it is none that is under way.
func (w *Wire) subscribed(n *Notification, own **sought) (stray bool) {
	if !bytes.Contains(n.Params, []byte(protocol.MetaKeySubscriptionID)) {
		return false
	}
	all, _ := fieldsOf(n.Params)
	meta, _ := fieldsOf(valueOf(all, "_meta"))
	id := valueOf(meta, protocol.MetaKeySubscriptionID)
	if id == nil {
		return false
	}
	if *own == nil {
		if *own, _ = w.inbox.of(id); *own == nil {
			return true
		}
	}
	if meta = without(meta, protocol.MetaKeySubscriptionID); len(meta) > 0 {
		all = with(all, "_meta", object(meta))
	} else {
		all = without(all, "_meta")
	}
	n.Params = object(all)
	return false
}

// hears passes on what mcp-go's client hears during the handshake over HTTP.
func (w *Wire) hears(n protocol.JSONRPCNotification) {
	w.heard.Add(1)
	params, err := json.Marshal(n.Params)
	if n.Method == string(protocol.MethodNotificationMessage) {
		params = w.peer.secrets.unshown(params)
	}
	if err == nil && w.events.Notified != nil && n.Method != string(protocol.MethodNotificationProgress) {
		w.events.Notified(Notification{Method: n.Method, Params: params})
	}
}

// overhears takes in a message of the server's own stream (earlier era, HTTP).
func (w *Wire) overhears(message []byte) {
	var m envelope
	switch err := json.Unmarshal(message, &m); {
	case err != nil:
		w.conn.log.Debug("a message of a server's own stream cannot be read", "error", err)
	case m.Method == "":
		w.heard.Add(1)
		w.conn.link.requests().tally.add(WrongID) // answers come on the stream of their request
	default:
		w.take(&m, nil, w.conn.link)
	}
}
