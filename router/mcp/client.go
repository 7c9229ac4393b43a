package mcp

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"junction/router"
)

// Options configure a [Client]. The zero value of each field has the default
// named beside it.
type Options struct {
	// ConnectTimeout bounds one attempt to reach a server: the start of its
	// process, the handshake and the first reading of its tools. Default 60 s,
	// since a server started through a package runner may take many seconds.
	ConnectTimeout time.Duration
	// MaxResponseBytes bounds one answer (of an event stream: one event).
	// Default 16 MiB. A larger one is MCP_OUTPUT_INVALID, and so is one of more JSON
	// values than a 32nd of it (65,536 are always allowed): what is small on the
	// wire may be large in memory.
	MaxResponseBytes int
	// KeepConnections is how many idle HTTP connections are kept per server.
	// Default 100. More may be open at once: a limit there would let slow calls
	// hold up quick ones.
	KeepConnections int
	// Revalidate is how old a description may grow within a session before
	// Describe reads it again. Default 300 s. A shorter ttlMs of the server and
	// its list_changed notifications come first.
	Revalidate time.Duration
	// Grace is how long a child may take to end after its input was closed, and
	// again after SIGTERM, before it is killed. Default 2 s.
	Grace time.Duration
	// Backoff paces new attempts at a server that cannot be reached.
	Backoff Backoff
	// Self is the executable that the command "junction" stands for. Default:
	// the running one.
	Self string
	// ClientName and ClientVersion are told to servers. Default "junction", "dev".
	ClientName, ClientVersion string
	// Elicitation says to servers of the earlier era that a person can be asked
	// while a call is open (ToolCall.Ask). Those of the later era are told with each
	// call (ToolCall.MayAsk).
	Elicitation bool
	// Logger receives what has no caller to be told. Default: nothing is logged.
	Logger *slog.Logger
	// OnStateChange observes connections, of one server in the order of what happens. It
	// must neither block nor use the client.
	OnStateChange func(server string, s State)
	// OnHandshake observes each attempt to connect a server and read its tools once
	// it has ended: how long it took, and the code of its failure, "" for none. It must
	// not block.
	OnHandshake func(server string, took time.Duration, failed router.Code)
	// OnStray observes each message that belongs to no request under way; see
	// [Client.Strays]. It must not block.
	OnStray func(server string, kind Stray)
	// OnDrift observes each server whose capability document is another than it was:
	// sameVersion says that no other version was told with it. It must not block.
	OnDrift func(server string, sameVersion bool)
	// OnStderr is told of each line that a child writes to its stderr, masked and cut
	// short. It must not block. Nil: nobody is; the last lines are in errors all the
	// same.
	OnStderr func(server, line string)
	// OnReconnect observes what is going to be done after a subscription ended,
	// before any of it is. It must not block.
	OnReconnect func(ReconnectPlan)
}

// State is where a connection stands.
type State string

const (
	Connecting State = "connecting" // being dialled or started
	Ready      State = "ready"      // handshake done, tools read
	Lost       State = "lost"       // was ready; the next use connects again
	Waiting    State = "waiting"    // an attempt failed; calls fail fast until the back-off has passed
	Closed     State = "closed"     // ended by us
)

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	v.ConnectTimeout = orDefault(v.ConnectTimeout, 60*time.Second)
	v.MaxResponseBytes = orDefault(v.MaxResponseBytes, 16<<20)
	v.KeepConnections = orDefault(v.KeepConnections, 100)
	v.Revalidate = orDefault(v.Revalidate, 300*time.Second)
	v.Grace = orDefault(v.Grace, 2*time.Second)
	v.Backoff = v.Backoff.withDefaults()
	v.ClientName = orDefault(v.ClientName, "junction")
	v.ClientVersion = orDefault(v.ClientVersion, "dev")
	if v.Logger == nil {
		v.Logger = slog.New(slog.DiscardHandler)
	}
	if v.OnStateChange == nil {
		v.OnStateChange = func(string, State) {}
	}
	if v.OnHandshake == nil {
		v.OnHandshake = func(string, time.Duration, router.Code) {}
	}
	if v.OnStray == nil {
		v.OnStray = func(string, Stray) {}
	}
	if v.OnDrift == nil {
		v.OnDrift = func(string, bool) {}
	}
	if v.OnReconnect == nil {
		v.OnReconnect = func(ReconnectPlan) {}
	}
	return v
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Client is a [router.Caller]. It is safe for concurrent use. Close it: child
// processes live as long as it does.
type Client struct {
	opts  Options
	base  context.Context // of what outlives a call: dials, children
	end   context.CancelFunc
	work  sync.WaitGroup // every goroutine that is not one caller's
	spawn *spawner

	mu      sync.RWMutex
	parting sync.WaitGroup   // requests that cancel tasks
	tending chan struct{}    // as many tokens as tasks are looked after that were given up
	peers   map[string]*peer // by server id
	wires   map[*Wire]struct{}
	tallies map[string]*tally
	closed  bool
}

var _ router.Caller = (*Client)(nil)

// New returns a client without connections; nil options are allowed.
func New(o *Options) *Client {
	c := &Client{opts: o.withDefaults(), peers: map[string]*peer{}, wires: map[*Wire]struct{}{}, tallies: map[string]*tally{}, spawn: newSpawner()}
	c.tending = make(chan struct{}, lookedAfter)
	c.base, c.end = context.WithCancel(context.Background())
	return c
}

// peer returns the keeper of the connection to s. A server whose Dial changed
// gets a new one; calls in flight on the old connection finish there.
func (c *Client) peer(s *router.Server) (*peer, error) {
	c.mu.RLock()
	p, closed := c.peers[s.ID], c.closed
	c.mu.RUnlock()
	if closed {
		return nil, notSent(router.Transport, "the MCP client is closed", nil)
	}
	if p != nil && p.serves(s) {
		return p, nil
	}
	if (s.Dial.Command == "") == (s.Dial.URL == "") {
		return nil, notSent(router.Transport, "server "+quote(s.ID)+": set either a command or a url", nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, notSent(router.Transport, "the MCP client is closed", nil)
	}
	if p = c.peers[s.ID]; p != nil {
		if p.serves(s) {
			return p, nil
		}
		p.retire()
	}
	if c.tallies[s.ID] == nil {
		c.tallies[s.ID] = &tally{server: s.ID, tell: c.opts.OnStray}
	}
	p = newPeer(c, s, c.tallies[s.ID])
	c.peers[s.ID] = p
	return p, nil
}

// Forget ends the connection to a server that left. Calls in flight finish.
func (c *Client) Forget(id string) {
	c.mu.Lock()
	p := c.peers[id]
	delete(c.peers, id)
	delete(c.tallies, id)
	c.mu.Unlock()
	if p != nil {
		p.retire()
	}
}

// Close ends every connection and child process. Calls in flight fail; tasks that
// were given up a moment ago are still told so. When ctx ends first, children are
// killed at once; Close then returns ctx's error.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	peers := c.peers
	c.peers = map[string]*peer{}
	wires := slices.Collect(maps.Keys(c.wires))
	c.mu.Unlock()
	c.lastWords(ctx)
	c.end()
	var ending sync.WaitGroup
	for _, w := range wires {
		ending.Go(func() { w.Close(ctx) })
	}
	for _, p := range peers {
		ending.Go(func() { p.close(ctx) })
	}
	ending.Wait()
	done := make(chan struct{})
	go func() {
		c.work.Wait()
		c.spawn.close()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
