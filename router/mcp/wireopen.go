package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// Open makes a connection to s that is the caller's own, and that the caller closes;
// the client's end ends it too. Forget does not, but tokens are not renewed after it.
// It uses what hops use: the way to start a process, credentials, limits, what was
// learnt of the server's era. g is who the server is told that it speaks with. e may
// be told of messages before Open returns. Attempts that fail are not paced here. ctx
// and Options.ConnectTimeout bound the attempt, not the connection.
func (c *Client) Open(ctx context.Context, s *router.Server, g Greeting, e Events) (w *Wire, fail *router.CallError) {
	defer func() {
		if p := recover(); p != nil {
			w, fail = nil, recovered(p)
		}
	}()
	p, err := c.peer(s)
	if err != nil {
		return nil, asCallError(err)
	}
	if g, err = g.whole(&c.opts); err != nil {
		return nil, notSent(router.CapabilityMismatch, err.Error(), nil)
	}
	w = &Wire{client: c, peer: p, greeting: g, events: e, repeats: repeats{limit: c.opts.MaxResponseBytes}}
	w.life, w.leave = context.WithCancel(context.Background())
	w.opened = make(chan struct{})
	defer close(w.opened)
	p.becomes(Connecting)
	begun := time.Now()
	fail = w.connect(ctx)
	p.handshook(time.Since(begun), fail)
	if fail != nil {
		w.leave()
		w.errands.Wait()
		p.becomes(Waiting)
		return nil, p.secrets.mask(fail)
	}
	p.becomes(Ready)
	return w, nil
}

// connect makes the one attempt, and enters the wire with the client.
func (w *Wire) connect(ctx context.Context) *router.CallError {
	p := w.peer
	within, cancel := context.WithTimeout(ctx, w.client.opts.ConnectTimeout)
	defer cancel()
	defer context.AfterFunc(w.client.base, cancel)()
	conn, settle, e := p.greet(within, w)
	if e != nil {
		p.mu.Lock()
		p.legacy = false // what failed may have been the era
		p.mu.Unlock()
		if ctx.Err() != nil {
			return ended(ctx, false)
		}
		return p.unopened(within, e)
	}
	settle()
	w.conn, w.modern = conn, conn.modern
	w.version, _ = json.Marshal(conn.version) //nolint:errcheck // plain text
	conn.wire = w
	c := w.client
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.wires[w] = struct{}{}
		c.work.Go(w.watch) // here, so that the client's end waits for it
	}
	c.mu.Unlock()
	if closed {
		conn.end(ctx, true)
		return notSent(router.Transport, errClosed.Error(), errClosed)
	}
	conn.stand(within)
	return nil
}

// watch clears up when the connection ends, whoever brings it about.
func (w *Wire) watch() {
	<-w.opened // told of before its end is
	<-w.conn.link.gone()
	w.end(context.Background()) // the link bounds its own end
}

// greets is who the server is told that it speaks with; nil: us.
func (w *Wire) greets() *Greeting {
	if w == nil {
		return nil
	}
	return &w.greeting
}

// prefersEarlier reports whether a server of both eras is to speak the earlier one.
func (w *Wire) prefersEarlier() bool { return w != nil && w.greeting.Earlier }

// whole is g with what it leaves unsaid.
func (g Greeting) whole(o *Options) (Greeting, error) {
	if absent(g.ClientInfo) {
		info, err := json.Marshal(protocol.Implementation{Name: o.ClientName, Version: o.ClientVersion})
		if err != nil {
			return g, err
		}
		g.ClientInfo = info
	}
	if absent(g.Capabilities) {
		g.Capabilities = json.RawMessage(`{}`)
	}
	for _, raw := range []*json.RawMessage{&g.ClientInfo, &g.Capabilities} {
		if _, ok := fieldsOf(*raw); !ok {
			return g, errors.New("the greeting's members are no JSON objects")
		}
		*raw = oneLine(*raw)
	}
	return g, nil
}

// of are the parameters of a request of the handshake, with g in them.
func (g *Greeting) of(req transport.JSONRPCRequest) (json.RawMessage, error) {
	raw, err := json.Marshal(req.Params)
	if err != nil {
		return nil, notSent(router.Transport, "the handshake has no JSON form", err)
	}
	all, _ := fieldsOf(raw)
	if req.Method == string(protocol.MethodInitialize) {
		return object(with(with(all, "clientInfo", g.ClientInfo), "capabilities", g.Capabilities)), nil
	}
	meta, _ := fieldsOf(valueOf(all, "_meta"))
	meta = with(with(meta, protocol.MetaKeyClientInfo, g.ClientInfo), protocol.MetaKeyClientCapabilities, g.Capabilities)
	return object(with(all, "_meta", object(meta))), nil
}
