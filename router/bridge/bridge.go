package bridge

import (
	"context"
	"encoding/json"
	"io"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
)

// partingTime bounds how long a bridge that ends takes leave of its servers.
const partingTime = 5 * time.Second

// Bridge is a [Handler] that has servers behind it.
//
// Over one server it is transparent: the client sees that server under its own name,
// with what it can do; every method passes, those that nobody knows too, and answers
// come back as they were written. Only where client and server are of different eras is
// something changed (see era.go). What a bridge answers itself:
//
//   - initialize and server/discover, from how the server introduced itself; for one
//     that does not come in time, in its own name;
//   - ping, which asks after the bridge;
//   - what no server has answered: an error that says who, since when and what next
//     ([Trouble]).
type Bridge struct {
	options Options
	down    *downstream
	front   teller
	middle  middle
}

// teller is what tells and asks the client: a [Front].
type teller interface {
	Notify(mcp.Notification)
	Ask(ctx context.Context, method string, params json.RawMessage) (mcp.Reply, error)
	Gone() <-chan struct{}
}

// middle is what stands between the client and its servers: a [behind] where there is
// one of them, else a table above several.
type middle interface {
	// document is how whoever is behind introduces itself, waiting for it no longer
	// than ctx lasts.
	document(ctx context.Context) *document
	// begin takes a request in, in the client's era, and answers in it; see
	// [Handler.Begin]. It is not asked for initialize and server/discover.
	begin(ctx context.Context, a *asked) func() mcp.Reply
	// notified takes a notification of the client in. It must not block.
	notified(mcp.Notification)
	// close ends everything; ctx is how long that may take.
	close(ctx context.Context)
}

// New returns a bridge over the servers: transparent over one, else as [NewSeveral]'s.
// nil options are allowed.
func New(servers []Server, o *Options) *Bridge {
	if len(servers) != 1 {
		return NewSeveral(servers, o)
	}
	b := newBridge(o)
	b.middle = newBehind(b, servers[0], b)
	return b
}

func newBridge(o *Options) *Bridge {
	return &Bridge{options: o.withDefaults(), down: &downstream{ready: make(chan struct{})}}
}

// Serve speaks to a client over its standard streams until in ends, or ctx does. It may
// be called once; nothing of the bridge goes on after it.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	front := NewFront(in, out, b, &FrontOptions{Logger: b.options.Logger})
	b.front = front
	err := front.Serve(ctx)
	parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTime)
	defer cancel()
	b.middle.close(parting)
	return err
}

// Begin implements [Handler].
func (b *Bridge) Begin(ctx context.Context, method string, params json.RawMessage) func() mcp.Reply {
	a, fault := b.down.read(ctx, method, params)
	if fault != nil {
		return replied(mcp.Reply{Error: fault})
	}
	switch protocol.MCPMethod(method) {
	case protocol.MethodInitialize:
		if a.modern {
			return replied(absentMethod(a))
		}
		return b.greet(ctx, a)
	case protocol.MethodServerDiscover:
		if a.modern {
			b.down.open(b.front.Notify)
			return b.greet(ctx, a)
		}
	case protocol.MethodPing:
		if !a.modern {
			return replied(mcp.Reply{Result: json.RawMessage(`{}`)})
		}
	}
	b.down.open(b.front.Notify)
	return b.middle.begin(ctx, a)
}

// Notified implements [Handler].
func (b *Bridge) Notified(n mcp.Notification) {
	if n.Method == string(protocol.MethodNotificationInitialized) {
		b.down.open(b.front.Notify)
		return
	}
	b.middle.notified(n)
}

// tell sends the client a notification, once it may be spoken to. It does not block.
func (b *Bridge) tell(_ *behind, n mcp.Notification) {
	if !b.down.keep(n) {
		b.front.Notify(n)
	}
}

func replied(r mcp.Reply) func() mcp.Reply { return func() mcp.Reply { return r } }

// refused is an error of the bridge's own that concerns no server.
func refused(code router.Code, message string) mcp.Reply {
	return mcp.Reply{Error: &mcp.RPCError{Code: CodeOf(code), Message: message}}
}
