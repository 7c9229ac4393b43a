package bridge

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

const (
	pageItems = 500
	// cutsKept is how many versions of a list can be read on in.
	cutsKept = 4
)

// shelf is the tools, or the prompts, under the names that the client has for them.
type shelf struct {
	now   map[string]owned
	shown map[string]owned // that the client has ever read
}

// mostShown bounds the names that are remembered.
const mostShown = 50_000

// cuts are the versions of a list that a client may be in the middle of.
type cuts struct {
	next int
	kept []cut
}

type cut struct {
	number int
	items  []json.RawMessage
}

// list answers a request for a list: a page of what all the servers have.
func (s *several) list(ctx context.Context, k *kind, a *asked) mcp.Reply {
	if cursor := member(a.params, "cursor"); cursor != nil && string(cursor) != "null" {
		return s.page(k, a, textIn(a.params, "cursor"))
	}
	s.read(ctx, a, k)
	items := s.merge(k)
	s.mu.Lock()
	c := s.cuts[k]
	if c == nil {
		c = &cuts{}
		s.cuts[k] = c
	}
	c.next++
	number := c.next
	if len(items) > pageItems {
		if c.kept = append(c.kept, cut{number, items}); len(c.kept) > cutsKept {
			c.kept = c.kept[1:]
		}
	}
	s.mu.Unlock()
	return listReply(k, a, number, 0, items, s.bridge)
}

// page is a later page of a list that was begun.
func (s *several) page(k *kind, a *asked, cursor string) mcp.Reply {
	version, at, _ := strings.Cut(cursor, "-")
	number, err := strconv.Atoi(version)
	from, err2 := strconv.Atoi(at)
	s.mu.Lock()
	var items []json.RawMessage
	if c := s.cuts[k]; c != nil && err == nil && err2 == nil {
		for _, kept := range c.kept {
			if kept.number == number {
				items = kept.items
			}
		}
	}
	s.mu.Unlock()
	if from <= 0 || from >= len(items) {
		return mcp.Reply{Error: &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: "the cursor is of no list that is still kept: begin again without one"}}
	}
	return listReply(k, a, number, from, items, s.bridge)
}

func listReply(k *kind, a *asked, number, from int, items []json.RawMessage, b *Bridge) mcp.Reply {
	to := min(from+pageItems, len(items))
	result := map[string]any{k.member: append([]json.RawMessage{}, items[from:to]...)}
	if to < len(items) {
		result["nextCursor"] = strconv.Itoa(number) + "-" + strconv.Itoa(to)
	}
	if a.modern {
		result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 0, "private"
		result["_meta"] = map[string]any{protocol.MetaKeyServerInfo: map[string]string{"name": b.options.ClientName, "version": b.options.Version}}
	}
	return mcp.Reply{Result: marshal(result)}
}

// read has a list read at all servers at once, for no longer than listWait.
func (s *several) read(ctx context.Context, a *asked, which ...*kind) {
	ctx, cancel := context.WithTimeout(ctx, listWait)
	defer cancel()
	var reading sync.WaitGroup
	for _, p := range s.here() {
		for _, k := range which {
			reading.Go(func() { p.read(ctx, k, a, func() { s.late(p, k) }) })
		}
	}
	reading.Wait()
}

// readAll has what a request may mean read.
func (s *several) readAll(ctx context.Context, a *asked) {
	switch protocol.MCPMethod(a.method) {
	case protocol.MethodToolsCall:
		s.read(ctx, a, toolKind)
	case protocol.MethodPromptsGet:
		s.read(ctx, a, promptKind)
	case protocol.MethodCompletionComplete:
		s.read(ctx, a, promptKind, resourceKind, templateKind)
	default:
		s.read(ctx, a, resourceKind, templateKind)
	}
	s.merge(toolKind)
	s.merge(promptKind)
}

// late tells the client of a list that was read after it had its answer.
func (s *several) late(p *peer, k *kind) {
	if !s.bridge.down.later() {
		s.bridge.tell(p.behind, mcp.Notification{Method: k.changed})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.listens {
		h.staleOf(k)
	}
}

// merge is the list of a kind, in order of the servers' names and then as they list it.
func (s *several) merge(k *kind) []json.RawMessage {
	parts := s.here()
	if k == resourceKind || k == templateKind {
		return s.mergeResources(k, parts)
	}
	var all []owned
	var servers []string
	for _, p := range parts {
		servers = append(servers, p.server.Name)
		for _, i := range p.items(k) {
			all = append(all, owned{p.server.Name, i.key})
		}
	}
	now := named(sorted(all), servers...)
	names := make(map[owned]string, len(now))
	for name, o := range now {
		names[o] = name
	}
	items := []json.RawMessage{}
	taken := map[owned]bool{}
	for _, p := range parts {
		for _, i := range p.items(k) {
			o := owned{p.server.Name, i.key}
			if taken[o] {
				continue // its server lists it twice
			}
			taken[o] = true
			if name := names[o]; name != i.key {
				i.raw = setMember(i.raw, "name", quote(name))
			}
			items = append(items, i.raw)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelf(k).put(now)
	return items
}

func (s *several) shelf(k *kind) *shelf {
	if k == toolKind {
		return &s.tools
	}
	return &s.prompts
}

func (h *shelf) put(now map[string]owned) {
	h.now = now
	if len(h.shown)+len(now) > mostShown {
		h.shown = map[string]owned{}
	}
	for name, o := range now {
		h.shown[name] = o
	}
}

func (s *several) mergeResources(k *kind, parts []*peer) []json.RawMessage {
	items := []json.RawMessage{}
	owner := map[string]string{}
	for _, p := range parts {
		for _, i := range p.items(k) {
			if first, taken := owner[i.key]; taken {
				s.collide(i.key, first, p.server.Name)
				continue
			}
			owner[i.key] = p.server.Name
			items = append(items, i.raw)
		}
	}
	return items
}

// collide tells people once of a resource that two servers have.
func (s *several) collide(uri, first, other string) {
	s.mu.Lock()
	tell := first != other && !s.told[uri] && len(s.told) < mostItems
	if tell {
		s.told[uri] = true
	}
	s.mu.Unlock()
	if !tell {
		return
	}
	s.bridge.options.Logger.Warn("two servers have the same resource: it is read from the first", "uri", clean(uri), "first", clean(first), "other", clean(other))
}
