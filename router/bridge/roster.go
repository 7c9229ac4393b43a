package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// kind is one of the lists that servers have.
type kind struct {
	method     string
	member     string // of the result, that holds the items
	key        string // of an item
	capability string
	changed    string // the notification; of templates that of resources
}

var (
	toolKind     = &kind{string(protocol.MethodToolsList), "tools", "name", "tools", protocol.MethodNotificationToolsListChanged}
	promptKind   = &kind{string(protocol.MethodPromptsList), "prompts", "name", "prompts", protocol.MethodNotificationPromptsListChanged}
	resourceKind = &kind{string(protocol.MethodResourcesList), "resources", "uri", "resources", protocol.MethodNotificationResourcesListChanged}
	templateKind = &kind{string(protocol.MethodResourcesTemplatesList), "resourceTemplates", "uriTemplate", "resources", protocol.MethodNotificationResourcesListChanged}

	kinds = []*kind{toolKind, promptKind, resourceKind, templateKind}
)

const (
	mostPages = 100
	mostItems = 10_000   // of one server and kind
	mostBytes = 16 << 20 // that they are long together: as much as one answer may be
	// readWithin bounds the reading of one list, of which a client waits for a part.
	readWithin = time.Minute
)

// item is one of a list, as its server wrote it.
type item struct {
	key string
	raw json.RawMessage
}

// peer is one of several servers, with what it listed last.
type peer struct {
	*behind
	mu    sync.Mutex
	lists map[*kind]*listed
}

// listed is one list of a server.
type listed struct {
	items   []item // of the last reading that ended well; they stay while the server is away
	edition int    // rises when the server says that the list has changed
	reading *reading
}

// reading is a list being read, for all who ask meanwhile.
type reading struct {
	edition int
	done    chan struct{}
}

// read has the list read anew and waits for it until ctx ends. What the list is then
// stands in items. A server that is known to be away is not waited for. late is told
// of a list that turns out to be another after ctx has ended.
func (p *peer) read(ctx context.Context, k *kind, like *asked, late func()) {
	if s := p.line.Status(); s.State == Reconnecting && s.Attempts > 0 || s.State == Closed {
		return
	}
	p.mu.Lock()
	l := p.list(k)
	r := l.reading
	if r == nil || r.edition != l.edition {
		r = &reading{edition: l.edition, done: make(chan struct{})}
		l.reading = r
		if !p.run(func() { p.fill(ctx, k, r, like, late) }) {
			close(r.done)
		}
	}
	p.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
	}
}

// list is the list of the kind. p.mu is held.
func (p *peer) list(k *kind) *listed {
	l := p.lists[k]
	if l == nil {
		l = &listed{}
		p.lists[k] = l
	}
	return l
}

// fill reads the list to its end.
func (p *peer) fill(asker context.Context, k *kind, r *reading, like *asked, late func()) {
	defer close(r.done)
	ctx, cancel := context.WithTimeout(p.life, readWithin)
	defer cancel()
	items, ok := p.pages(ctx, k, like)
	p.mu.Lock()
	l := p.list(k)
	if l.reading == r {
		l.reading = nil
	}
	changed := false
	if ok {
		changed = !slices.EqualFunc(l.items, items, func(a, b item) bool { return bytes.Equal(a.raw, b.raw) })
		l.items = items
	}
	p.mu.Unlock()
	if changed && asker.Err() != nil {
		late()
	}
}

// pages reads all pages of the list; ok is false where that failed, and the last ones
// stay.
func (p *peer) pages(ctx context.Context, k *kind, like *asked) (items []item, ok bool) {
	var cursor json.RawMessage
	held := 0
	for range mostPages {
		reply := p.begin(ctx, like.forList(k, cursor))()
		if reply.Error != nil {
			if reply.Error.Code == protocol.METHOD_NOT_FOUND {
				return nil, true // it has none of the kind
			}
			p.log.Debug("a list was not read", "method", k.method, "error", clean(reply.Error.Message))
			return nil, false
		}
		var page []json.RawMessage
		if raw := member(reply.Result, k.member); raw == nil || json.Unmarshal(raw, &page) != nil {
			p.log.Debug("a list was not read", "method", k.method, "error", "the answer holds none")
			return nil, ctx.Err() == nil && reply.Result != nil
		}
		for _, raw := range page {
			if len(items) == mostItems || held+len(raw) > mostBytes {
				p.log.Warn("a list is longer than is read", "method", k.method, "items", len(items), "bytes", held)
				return items, true
			}
			if key := textIn(raw, k.key); key != "" {
				items, held = append(items, item{key, raw}), held+len(raw)
			}
		}
		if cursor = member(reply.Result, "nextCursor"); cursor == nil || string(cursor) == "null" {
			return items, true
		}
	}
	p.log.Warn("a list has more pages than are read", "method", k.method, "pages", mostPages)
	return items, true
}

// forList is a request for a page of a list, made for the same client as a.
func (a *asked) forList(k *kind, cursor json.RawMessage) *asked {
	list := &asked{method: k.method, modern: a.modern, capabilities: a.capabilities}
	if a.modern {
		meta := dropMembers(member(a.params, "_meta"), "progressToken", protocol.MetaKeyLogLevel)
		list.params = marshal(map[string]json.RawMessage{"_meta": object(meta)})
	}
	if cursor != nil {
		list.params = setMember(list.params, "cursor", cursor)
	}
	return list
}

// items are those that were listed last.
func (p *peer) items(k *kind) []item {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list(k).items
}

// outdate notes that the server's lists of the notification have changed.
func (p *peer) outdate(n mcp.Notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range kinds {
		if k.changed == n.Method {
			p.list(k).edition++
		}
	}
}
