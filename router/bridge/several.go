package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// listWait is how long a list, or the bridge's greeting, waits for servers that are slow.
const listWait = 3 * time.Second

// draining is how long what is under way at a server that left the list has.
const draining = 30 * time.Second

// several are servers that the client sees as one: tools and prompts of all in one
// list, under their own names where these are unique (names.go), resources by URI, of
// the first server in order of names that lists one. What the servers can do is united,
// but for tasks, whose ids do not say whose they are.
//
// A server that is away contributes what it listed last, or nothing; when it comes,
// goes or changes the client hears that the lists have changed. A list waits for a slow
// server for listWait, calls wait for their own server alone. A name that was shown
// once goes to the server it was shown for, as long as that is there, also after
// another server has brought the same.
type several struct {
	bridge *Bridge
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	parts   []*peer // in order of names
	tools   shelf
	prompts shelf
	told    map[string]bool // resources of more than one server that the log has told of
	cuts    map[*kind]*cuts
	listens map[*hearing]struct{}
	level   *asked // the client's choice of messages
}

// NewSeveral returns a bridge over servers that the client sees as one. There may be
// any number, which [Bridge.Update] changes; each has a name of its own.
func NewSeveral(servers []Server, o *Options) *Bridge {
	b := newBridge(o)
	s := &several{bridge: b, told: map[string]bool{}, cuts: map[*kind]*cuts{}, listens: map[*hearing]struct{}{}}
	s.life, s.end = context.WithCancel(context.Background())
	s.tools.shown, s.prompts.shown = map[string]owned{}, map[string]owned{}
	for _, server := range servers {
		s.parts = append(s.parts, s.peer(server))
	}
	s.order()
	b.middle = s
	return b
}

func (s *several) peer(server Server) *peer {
	p := &peer{lists: map[*kind]*listed{}}
	p.behind = newBehind(s.bridge, server, s)
	return p
}

func (s *several) order() {
	slices.SortFunc(s.parts, func(a, b *peer) int { return strings.Compare(a.server.Name, b.server.Name) })
}

// Update makes these the servers of a bridge over several. Those that stay are told
// apart by name, and keep their lines. What is under way at one that leaves has 30 s to
// come to its end.
func (b *Bridge) Update(servers []Server) {
	s, ok := b.middle.(*several)
	if !ok {
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	var stay, left []*peer
	for _, p := range s.parts {
		if slices.ContainsFunc(servers, func(v Server) bool { return v.Name == p.server.Name }) {
			stay = append(stay, p)
		} else {
			left = append(left, p)
		}
	}
	s.parts = stay
	for _, server := range servers {
		if !slices.ContainsFunc(stay, func(p *peer) bool { return p.server.Name == server.Name }) {
			p := s.peer(server)
			s.parts = append(s.parts, p)
			s.work.Go(func() { s.welcome(p) })
		}
	}
	s.order()
	for _, p := range left {
		s.work.Go(func() {
			p.line.quiet(s.life, draining) // who takes it from the list need not be its end
			parting, cancel := context.WithTimeout(context.Background(), partingTime)
			defer cancel()
			p.close(parting)
		})
	}
	s.mu.Unlock()
	if len(left) > 0 {
		s.changed()
	}
}

// welcome takes in a server that came while the client was there.
func (s *several) welcome(p *peer) {
	s.mu.Lock()
	for h := range s.listens {
		h.hear(p)
	}
	level := s.level
	s.mu.Unlock()
	if level != nil {
		p.remember(level)
	}
	ctx, cancel := context.WithTimeout(s.life, listWait)
	defer cancel()
	p.document(ctx)
	if p.latest() != nil {
		s.changed()
	} // else it says so itself when it comes
}

// changed tells the client that all lists may have.
func (s *several) changed() {
	if !s.bridge.down.later() {
		lists(true, true, true, func(n mcp.Notification) { s.bridge.tell(nil, n) })
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.listens {
		h.stale()
	}
}

// here are the servers, in order of their names.
func (s *several) here() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.parts)
}

// tell implements [listener].
func (s *several) tell(from *behind, n mcp.Notification) {
	if n.Method == protocol.MethodNotificationSubscriptionsAcknowledged {
		return // the bridge has done so for all
	}
	for _, p := range s.here() {
		if p.behind == from {
			p.outdate(n)
		}
	}
	s.bridge.tell(from, n)
}

// document implements [middle]: what the servers can do, united; all of it while one of
// them is away.
func (s *several) document(ctx context.Context) *document {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	parts := s.here()
	var asking sync.WaitGroup
	for _, p := range parts {
		asking.Go(func() { p.document(ctx) })
	}
	asking.Wait()
	o := &s.bridge.options
	var away, said []string
	var known []*document
	for _, p := range parts {
		d := p.latest()
		if d == nil {
			away = append(away, absent(p.server.Name, p.line.Status()))
			continue
		}
		known = append(known, d)
		if text := textIn(d.raw, "instructions"); text != "" {
			said = append(said, p.server.Name+": "+text)
		}
	}
	if len(away) > 0 || len(known) == 0 {
		own := ownDocument(o.ClientName, o.Version, away)
		said = append(said, textIn(own.raw, "instructions"))
		if len(away) == 0 {
			said = []string{"There is no server behind this yet."}
		}
		return &document{raw: setMember(own.raw, "instructions", quote(strings.Join(said, "\n\n"))), name: o.ClientName}
	}
	raw := marshal(map[string]any{
		"protocolVersion": protocol.LATEST_LEGACY_PROTOCOL_VERSION, "capabilities": united(known),
		"serverInfo": map[string]string{"name": o.ClientName, "version": o.Version},
	})
	if len(said) > 0 {
		raw = setMember(raw, "instructions", quote(strings.Join(said, "\n\n")))
	}
	return &document{raw: raw, name: o.ClientName}
}

// united is what any of the servers can do. Lists change whenever a server comes.
func united(known []*document) map[string]any {
	changes := func() map[string]bool { return map[string]bool{"listChanged": true} }
	all := map[string]any{"tools": changes()}
	for _, d := range known {
		if d.has("prompts", "") {
			all["prompts"] = changes()
		}
		if d.has("resources", "") && all["resources"] == nil {
			all["resources"] = changes()
		}
		if d.has("resources", "subscribe") {
			all["resources"] = map[string]bool{"listChanged": true, "subscribe": true}
		}
		for _, plain := range []string{"logging", "completions"} {
			if d.has(plain, "") {
				all[plain] = struct{}{}
			}
		}
		for _, open := range []string{"experimental", "extensions"} {
			for name, value := range members(object(dropMembers(member(d.capabilities(), open), notShared...))) {
				more, _ := all[open].(map[string]json.RawMessage)
				if more == nil {
					more = map[string]json.RawMessage{}
					all[open] = more
				}
				if more[string(name)] == nil {
					more[string(name)] = value
				}
			}
		}
	}
	return all
}

// notShared are extensions that say nothing of several servers together: whose a task
// is, and what one of them is for.
var notShared = []string{"io.modelcontextprotocol/tasks", "dev.junction/routing"}

// begin implements [middle].
func (s *several) begin(ctx context.Context, a *asked) func() mcp.Reply {
	for _, k := range kinds {
		if a.method == k.method {
			return func() mcp.Reply { return s.list(ctx, k, a) }
		}
	}
	switch protocol.MCPMethod(a.method) {
	case protocol.MethodSetLogLevel:
		return replied(s.setLevel(a))
	case protocol.MethodSubscriptionsListen:
		return s.listen(ctx, a)
	}
	route := routes[a.method]
	if route == nil {
		return replied(mcp.Reply{Error: &mcp.RPCError{
			Code: protocol.METHOD_NOT_FOUND, Message: fmt.Sprintf("%s: nothing says which of the servers it is for", clean(a.method)),
		}})
	}
	if p, own := route(s, a); p != nil {
		return p.begin(ctx, own)
	}
	return func() mcp.Reply { // it may be in a list that was not read yet
		s.readAll(ctx, a)
		if p, own := route(s, a); p != nil {
			return p.begin(ctx, own)()
		}
		return s.unknown(a)
	}
}

// setLevel gives all servers the level of messages, those that are away when they come.
func (s *several) setLevel(a *asked) mcp.Reply {
	if !slices.Contains(severities, textIn(a.params, "level")) {
		return mcp.Reply{Error: &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "there is no such level"}}
	}
	s.mu.Lock()
	s.level = a
	s.mu.Unlock()
	for _, p := range s.here() {
		d := p.latest()
		if d == nil || p.line.Status().State != Connected || !d.has("logging", "") {
			p.remember(a)
			continue
		}
		wait := p.begin(p.life, a)
		p.see(func() {
			if reply := wait(); reply.Error != nil {
				p.log.Warn("the server does not take a level of messages", "error", clean(reply.Error.Message))
			}
		})
	}
	return mcp.Reply{Result: json.RawMessage(`{}`)}
}

// notified implements [middle].
func (s *several) notified(n mcp.Notification) {
	for _, p := range s.here() {
		p.notified(n)
	}
}

// close implements [middle].
func (s *several) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	parts := s.parts
	s.mu.Unlock()
	s.end()
	var closing sync.WaitGroup
	for _, p := range parts {
		closing.Go(func() { p.close(ctx) })
	}
	closing.Wait()
	s.work.Wait()
}
