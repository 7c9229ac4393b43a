package routed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
	"junction/state"
)

// Capability is a tool of a [Handler]: what its calls ask of a server.
type Capability struct {
	Name         string
	Need, Prefer map[string]any
}

// Thread is what keeps the records of a [Handler]'s calls.
type Thread interface {
	// Journal returns the journal of a call: prior is what an earlier call under the
	// same task has left, ask puts a server's question to the client, nil where the
	// client answers none.
	Journal(task, node string, prior []state.Record, ask state.Ask) *state.Journal
	// Keep stores what waits in a journal once its call has ended. It must not block.
	Keep(*state.Journal)
}

// Options tune a [Handler]; the zero value of each field is its default.
type Options struct {
	Thread  Thread        // nil: nothing is kept
	Look    time.Duration // how often servers are looked at for another schema; 15 s
	First   time.Duration // how long the first list of tools waits for servers whose schemas it needs; 2 s
	Patient time.Duration // how long a question waits for the client's answer; 5 min
	Version string        // of the program, as clients are told
	Logger  *slog.Logger  // nil: nobody is told
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Look = cmp.Or(d.Look, 15*time.Second)
	d.First = cmp.Or(d.First, 2*time.Second)
	d.Patient = cmp.Or(d.Patient, 5*time.Minute)
	d.Version = cmp.Or(d.Version, "dev")
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Thread == nil {
		d.Thread = forgetful{}
	}
	return d
}

// forgetful is a [Thread] that keeps nothing.
type forgetful struct{}

func (forgetful) Journal(task, node string, prior []state.Record, ask state.Ask) *state.Journal {
	return state.NewJournal(state.Scope{Task: task, Node: node}, state.JournalOptions{Prior: prior, Ask: ask, Live: ask})
}

func (forgetful) Keep(*state.Journal) {}

// client is what a [Handler] tells and asks: a [bridge.Front].
type client interface {
	Notify(mcp.Notification)
	Ask(ctx context.Context, method string, params json.RawMessage) (mcp.Reply, error)
}

// Handler is a [bridge.Handler] whose tools are capabilities, and the router's
// [router.Observer] for the progress of its calls. Close it after its client has gone.
type Handler struct {
	router       *router.Router
	discovery    router.Discovery
	capabilities []Capability
	options      Options

	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	client client
	keys   keys
	shown  shapes

	mu      sync.Mutex
	calls   map[string]*call     // under way, by task
	begun   int                  // calls, which numbers their tasks
	parked  map[string]*question // by the requestState that the client brings back
	greeted abilities            // what a client of the earlier era can be asked
}

// New returns a handler whose tools are the capabilities, in their order. d is
// the router's own discovery; nil options are allowed.
func New(d router.Discovery, capabilities []Capability, o *Options) *Handler {
	r := &Handler{
		discovery: d, capabilities: slices.Clone(capabilities), options: o.withDefaults(),
		calls: map[string]*call{}, parked: map[string]*question{},
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.shown.first = make(chan struct{})
	return r
}

// Serve speaks to a client over its standard streams until in ends, or ctx does; the
// hops are r's. It may be called once.
func (r *Handler) Serve(ctx context.Context, by *router.Router, in io.Reader, out io.Writer) error {
	front := bridge.NewFront(in, out, r, &bridge.FrontOptions{Logger: r.options.Logger})
	r.attach(by, front)
	return front.Serve(ctx)
}

func (r *Handler) attach(by *router.Router, c client) { r.router, r.client = by, c }

// Close cancels the calls under way and waits for their ends.
func (r *Handler) Close() {
	r.end()
	r.work.Wait()
}

// Notified implements [bridge.Handler]: nothing that a client tells changes anything here.
func (*Handler) Notified(mcp.Notification) {}

// Begin implements [bridge.Handler].
func (r *Handler) Begin(ctx context.Context, method string, params json.RawMessage) func() mcp.Reply {
	q, fault := readRequest(params)
	if fault != nil {
		return said(mcp.Reply{Error: fault})
	}
	switch method {
	case string(protocol.MethodInitialize):
		r.mu.Lock()
		r.greeted = abilitiesOf(q.Capabilities)
		r.mu.Unlock()
		return said(r.initialize(q))
	case string(protocol.MethodServerDiscover):
		return said(r.discover())
	case string(protocol.MethodPing):
		return said(answer(struct{}{}))
	case string(protocol.MethodToolsList):
		return func() mcp.Reply { return r.list(ctx, q) }
	case string(protocol.MethodToolsCall):
		return func() mcp.Reply { return r.call(ctx, q) }
	}
	return said(mcp.Reply{Error: &mcp.RPCError{
		Code: protocol.METHOD_NOT_FOUND, Message: fmt.Sprintf("%s: only tools are served here", method),
	}})
}

// said is an answer that need not be waited for.
func said(reply mcp.Reply) func() mcp.Reply { return func() mcp.Reply { return reply } }

// answer is a result.
func answer(v any) mcp.Reply {
	raw, err := json.Marshal(v)
	if err != nil {
		return mcp.Reply{Error: &mcp.RPCError{Code: protocol.INTERNAL_ERROR, Message: "the answer has no JSON form: " + err.Error()}}
	}
	return mcp.Reply{Result: raw}
}
