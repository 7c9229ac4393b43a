package bridge

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
)

// listener is told of what a server sends by itself, in the client's era and without the
// names of subscriptions. It must not block.
type listener interface {
	tell(from *behind, n mcp.Notification)
}

// behind is one server as a bridge uses it: its line, and what each new session of it
// has to be given again. What goes in and comes out is in the client's era; what the
// server speaks is nobody else's concern.
type behind struct {
	bridge *Bridge
	server Server
	up     listener
	line   *Line
	log    *slog.Logger

	life context.Context // ends with close
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool
	on     Session   // the latest, from its handshake on
	known  *document // of the latest session
	early  bool      // the client was told about the bridge, not about the server
	level  string    // of messages: the client's choice
	subs   []*subscription
	lists  *subscription            // the one for changes in lists; for a client of the earlier era
	uris   map[string]*subscription // those of resources/subscribe
	open   map[*passage]struct{}    // under way, for a client of the later era
	parked map[string]*passage      // that wait for a client's answer, by requestState
	prefix string                   // of these states
	asks   map[string]reporting     // whose progress the client may report, by its token
}

// newBehind returns the part of a bridge that a server has; what it sends by itself goes
// to up.
func newBehind(b *Bridge, s Server, up listener) *behind {
	h := &behind{
		bridge: b, server: s, up: up, log: b.options.Logger.With("server", s.Name),
		uris: map[string]*subscription{},
		open: map[*passage]struct{}{}, parked: map[string]*passage{}, asks: map[string]reporting{},
		prefix: parkedPrefix + rand.Text() + "-",
	}
	h.life, h.end = context.WithCancel(context.Background())
	o := &b.options
	lo := &LineOptions{
		Name: s.Name, PingInterval: o.PingInterval, PingTimeout: o.PingTimeout, Queue: o.Queue,
		Wait: o.Wait, Backoff: o.Backoff, Logger: o.Logger, Restore: h.restore,
		Events: mcp.Events{Notified: h.heard, Asked: h.questioned, Lapsed: h.lapsed},
	}
	if o.OnStatus != nil {
		lo.OnStatus = func(st Status) { o.OnStatus(s.Name, st) }
	}
	h.line = NewLine(h.dial, lo)
	return h
}

// dial opens a session in the name of the client.
func (h *behind) dial(ctx context.Context, e mcp.Events) (Session, *router.CallError) {
	s, fail := h.server.Open(ctx, h.bridge.down.who(), e)
	if fail == nil {
		h.mu.Lock()
		h.on = s
		h.mu.Unlock()
	}
	return s, fail
}

// session is the latest one; nil: there was none yet.
func (h *behind) session() Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on
}

// document implements [middle].
func (h *behind) document(ctx context.Context) *document {
	if d := h.latest(); d != nil {
		return d
	}
	_, fail := h.line.Ready(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known != nil {
		return h.known
	}
	h.early = true
	status := h.line.Status()
	if status.Why == nil {
		status.Why = fail
	}
	return ownDocument(h.bridge.options.ClientName, h.bridge.options.Version, []string{absent(h.server.Name, status)})
}

// latest is how the server introduced itself last; nil: it has not come yet.
func (h *behind) latest() *document {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

// restore makes a new session what the last one was: nothing else leaves on it before.
func (h *behind) restore(ctx context.Context, s Session) *router.CallError {
	d := &document{raw: s.Document(), modern: s.Modern(), name: h.server.Name}
	h.mu.Lock()
	again := h.known != nil || h.early
	h.known, h.early = d, false
	h.mu.Unlock()
	if d.modern {
		h.listenAll(ctx, s, again)
	} else if fail := h.subscribeAll(ctx, s); fail != nil {
		return fail
	}
	if again {
		h.stale(d)
	}
	return nil
}

// notified implements [middle].
func (h *behind) notified(n mcp.Notification) {
	s := h.session()
	switch {
	case n.Method == string(protocol.MethodNotificationProgress):
		h.reported(n.Params)
		return
	case s == nil:
		return
	case s.Modern() != h.bridge.down.later():
		if s.Modern() || n.Method != protocol.MethodNotificationRootsListChanged {
			return // of the client's era only
		}
	}
	h.line.Notify(h.life, n)
}

// run does something beside the requests, unless everything is over. close waits for it.
func (h *behind) run(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runLocked(f)
}

func (h *behind) runLocked(f func()) bool {
	if !h.closed {
		h.work.Go(f)
	}
	return !h.closed
}

// see has a request of the bridge's own, which was begun in h.life, waited for beside the
// others. Its wait is always called: once everything is over it does not take time.
func (h *behind) see(wait func()) {
	if !h.run(wait) {
		wait()
	}
}

// close implements [middle].
func (h *behind) close(ctx context.Context) {
	h.end() // before, for see
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.forgetParked()
	h.line.Close(ctx)
	h.work.Wait()
}
