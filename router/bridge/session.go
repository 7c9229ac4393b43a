package bridge

import (
	"context"
	"encoding/json"

	"junction/router"
	"junction/router/mcp"
)

// Session is one live connection to a server, its handshake done. [mcp.Wire] is one.
type Session interface {
	// Do makes one request. The error says what became of it where the server gave no
	// answer: Execution is what decides whether it may be made again. When ctx ends
	// the server is told, as its era and transport want it. It tells r.Sent as soon as
	// the request has its place: the next one is held back for that.
	Do(ctx context.Context, r *mcp.Request) (mcp.Reply, *router.CallError)
	// Notify sends a message that has no answer.
	Notify(ctx context.Context, n mcp.Notification) error
	// Ping asks for a sign of life: ping, in the later era server/discover.
	Ping(ctx context.Context) *router.CallError
	// Heard counts the messages that have come from the server, of any kind.
	Heard() int64
	// Modern says that the server speaks the later era (2026-07-28).
	Modern() bool
	// Document is the server's answer to the handshake: the result of initialize, or of
	// server/discover.
	Document() json.RawMessage
	// Gone is closed when the connection can carry nothing any more; Why is then why.
	Gone() <-chan struct{}
	Why() *router.CallError
	// Close ends the connection; when ctx ends first, by force.
	Close(ctx context.Context)
}

// punctual is a [Session] that may say that a request of it waits for nobody but the
// server, and for that no longer than its ctx. Only such a one is trusted with the
// goroutines of who brings requests and who waits for answers; any other may hang without
// a request hanging with it.
type punctual interface {
	Punctual() bool
	// Start is Do in two halves, of which the first does not wait: where the server has
	// room for the request it has left, and r.Sent was told, when Start returns. wait is
	// called once and does the rest.
	Start(ctx context.Context, r *mcp.Request) (wait func() (mcp.Reply, *router.CallError))
}

// Dial opens a session. What the server sends by itself goes to e from the first
// message after the handshake.
type Dial func(ctx context.Context, e mcp.Events) (Session, *router.CallError)

// Request is a request for a [Line] to carry, and what is known of its effect.
type Request struct {
	Method string // for people
	// Make writes the request for the session that it is about to leave on: eras differ,
	// and a server may come back in another one. It is asked anew for each attempt, and
	// must not block.
	Make func(s Session) *mcp.Request
	// Again says whether it may be made again after an attempt whose outcome is
	// unknown: reads may, and calls of tools that are safe, or conditional under a
	// key that the arguments carry. All others end with an error then (R31).
	Again bool
}

// Handler serves a [Front]'s client.
type Handler interface {
	// Begin takes a request in. It runs in the reader, so that requests are taken in the
	// order in which they came, and must not block; wait is then called once, on a
	// goroutine of its own, and returns the answer. ctx ends when the client cancels
	// the request, or is gone: the answer is then dropped.
	Begin(ctx context.Context, method string, params json.RawMessage) (wait func() mcp.Reply)
	// Notified takes a notification in, cancels apart. It must not block.
	Notified(n mcp.Notification)
}
