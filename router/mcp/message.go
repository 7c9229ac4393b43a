package mcp

import (
	"context"
	"encoding/json"
)

// Greeting is who opens a [Wire], as the server is told: the program that stands
// behind the bridge, not the bridge.
type Greeting struct {
	// ClientInfo is the member clientInfo of the handshake, a JSON object. Nil: ours.
	ClientInfo json.RawMessage
	// Capabilities is what the one behind can do, a JSON object: what a server asks
	// for beyond it is refused. Nil: nothing.
	Capabilities json.RawMessage
	// Earlier says that the one behind speaks the earlier era (up to 2025-11-25). A server
	// that speaks both is then spoken to in that one, so that nothing has to be
	// translated; without it, in the later.
	Earlier bool
}

// Request is one request of JSON-RPC on its way to a server, as its sender wrote it.
type Request struct {
	Method string
	// Params is the JSON object of its parameters, nil for none. Of its _meta the
	// progress token is taken out; in the later era what a request there must tell
	// (version, capabilities, client) is added where it is missing, and the version is
	// always the connection's.
	Params json.RawMessage
	// Progress is told of each notification of progress for this request: its params
	// as the server wrote them, but for the token. It must not block. Nil: none is asked
	// for.
	Progress func(params json.RawMessage)
	// Notify is told of every other notification that comes on this request's own
	// stream (HTTP), or that names it as its subscription (the later era, any
	// transport), without the subscription's id; nil: [Events.Notified] is. It must not
	// block.
	Notify func(Notification)
	// Asked is told of each request of the server that comes on this request's own
	// stream (HTTP); nil: [Events.Asked] is, as for those that come elsewhere. It must
	// not block.
	Asked func(ctx context.Context, method string, params json.RawMessage, answer func(Reply))
	// Sent is told, at most once, when the request has its place among all that goes to
	// the server: whatever is handed in from then on leaves after it. A sender who keeps
	// an order waits for it, or for the end of the request, before the next. It must not
	// block.
	Sent func()
}

// Reply is what a server answered: either a result or an error of its own.
type Reply struct {
	Result json.RawMessage
	Error  *RPCError
}

// RPCError is the error member of an answer (JSON-RPC 2.0, section 5.1), word for
// word.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return e.Message }

// Notification is a message without an answer.
type Notification struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Events are told of what a server sends by itself. None of them may block: they
// run in the reader of the connection.
type Events struct {
	// Notified is told of each notification in the server's order, apart from progress
	// and from cancels of what the server asked, which end the context of Asked.
	Notified func(Notification)
	// Asked is told of a request of the server, which waits for answer to be called,
	// once, from any goroutine. ctx ends when the server cancels it, or the connection
	// ends; an answer after that is dropped.
	Asked func(ctx context.Context, method string, params json.RawMessage, answer func(Reply))
	// Lapsed is told when the stream on which a server of the earlier era sends by itself
	// over HTTP broke and is there again: nobody knows what it said meanwhile.
	Lapsed func()
}
