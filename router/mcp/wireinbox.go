package mcp

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// envelope is any JSON-RPC message of a server, its parts as they were written.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// reply is what an answer says.
func (m *envelope) reply() (Reply, *router.CallError) {
	if m == nil {
		return Reply{}, unknown(router.OutputInvalid, "the server sent no answer", nil)
	}
	if absent(m.Error) {
		if len(m.Result) == 0 {
			return Reply{}, unknown(router.OutputInvalid, "the answer holds neither a result nor an error", nil)
		}
		return Reply{Result: m.Result}, nil
	}
	var e RPCError
	if err := json.Unmarshal(m.Error, &e); err != nil {
		return Reply{}, unknown(router.OutputInvalid, "the answer's error cannot be read: "+excerpt(err.Error()), nil)
	}
	if e.Code == rpcUnsupportedVersion {
		return Reply{}, refused(m.details())
	}
	return Reply{Error: &e}, nil
}

// details are the error as mcp-go reads it; nil: there is none.
func (m *envelope) details() *protocol.JSONRPCErrorDetails {
	if absent(m.Error) {
		return nil
	}
	var d protocol.JSONRPCErrorDetails
	if json.Unmarshal(m.Error, &d) != nil {
		return &protocol.JSONRPCErrorDetails{Code: protocol.INTERNAL_ERROR, Message: "an error that cannot be read"}
	}
	return &d
}

// inbox knows which requests are under way, so that each message finds its own.
type inbox struct {
	mu        sync.Mutex
	requests  map[int64]*sought
	questions map[string]*question // the server's, by its id
	busy      int                  // questions that are open, or whose answer is being sent
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
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	b.moot(s)
}

// of is the request with an id as a server wrote it; nil: none is under way.
func (b *inbox) of(raw json.RawMessage) (s *sought, id int64) {
	id, ok := requestID(raw)
	if !ok {
		return nil, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[id], id
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
		w.heard.Add(1)
		id, ok := requestID(m.ID)
		if !ok {
			s.asked.tally.add(WrongID)
			break
		}
		s.hand(id, answer{whole: &m, resp: &transport.JSONRPCResponse{
			JSONRPC: protocol.JSONRPC_VERSION, ID: protocol.NewRequestId(id), Result: m.Result, Error: m.details(),
		}})
	}
	return true
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
