package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// open makes a connection: link, handshake, first reading of the tools.
func (p *peer) open(ctx context.Context) (c *conn, e *router.CallError) {
	defer func() {
		if r := recover(); r != nil {
			c, e = nil, notSent(router.Transport, recovered(r).Message, nil)
		}
	}()
	p.mu.Lock()
	last := p.known
	p.mu.Unlock()
	c, settle, e := p.greet(ctx, nil)
	if e != nil {
		return nil, p.unopened(ctx, e)
	}
	c.known.Store(last) // what did not change is not parsed again
	c.pace = &p.pace
	c.subscribe(ctx)
	c.stand(ctx)
	k, e := c.reread(ctx, last)
	if e != nil {
		c.end(ctx, true)
		return nil, p.unopened(ctx, e)
	}
	settle()
	p.noticed(c, k, true, false)
	c.noticed = func(k *catalog, announced bool) { p.noticed(c, k, false, announced) }
	c.held = p.held
	return c, nil
}

// greet makes a link and does the handshake over it, for a wire or, nil, for hops.
// settle keeps what was learnt of the server's era.
func (p *peer) greet(ctx context.Context, w *Wire) (c *conn, settle func(), e *router.CallError) {
	p.mu.Lock()
	known := p.legacy
	p.mu.Unlock()
	l, e := p.link(w)
	if e != nil {
		return nil, nil, e
	}
	legacy := known || w.prefersEarlier()
	c, e = p.handshake(ctx, l, legacy, w)
	if !known && wantsOther(l, legacy, e) {
		l.stop(ctx)
		if l, e = p.link(w); e != nil {
			return nil, nil, e
		}
		legacy = !legacy
		c, e = p.handshake(ctx, l, legacy, w)
	}
	if e != nil {
		l.stop(ctx)
		return nil, nil, e
	}
	return c, func() {
		if legacy && !known && w.prefersEarlier() {
			return // it was not asked for the later one
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.legacy = legacy || !l.opening().wasAnswered()
	}, nil
}

// link starts the process or prepares the HTTP side.
func (p *peer) link(w *Wire) (link, *router.CallError) {
	server := p.server.Load()
	o, d := &p.client.opts, &server.Dial
	if d.URL != "" {
		l, e := newHTTPLink(d, o, p.wallet, p.tally)
		if e != nil {
			return nil, e
		}
		l.start.greeting = w.greets()
		return l, nil
	}
	var heard func(string)
	if told := o.OnStderr; told != nil {
		heard = func(line string) { told(server.ID, p.secrets.text(line)) }
	}
	ch, err := p.client.spawn.start(d, o.Self, o.Grace, heard)
	if err != nil {
		return nil, notSent(router.Transport, excerpt(err.Error()), err)
	}
	l := newStdio(ch, o.MaxResponseBytes, p.tally, w)
	l.start.greeting = w.greets()
	return l, nil
}

// wantsOther reports whether a server is to be met anew in the other era, after the
// handshake of one came to e. Some processes end when their first message is not the
// one they know; and a server that gives no session can neither ask nor tell anything
// in the earlier era.
func wantsOther(l link, legacy bool, e *router.CallError) bool {
	switch l := l.(type) {
	case *stdio:
		select {
		case <-l.gone():
			return e != nil && !l.opening().wasAnswered()
		default:
			return e != nil && legacy && e.RPCCode != 0
		}
	case *httpLink:
		switch {
		case !legacy:
		case e == nil:
			return l.GetSessionId() == ""
		default:
			return e.RPCCode != 0 || e.HTTPStatus == http.StatusBadRequest || neverReceived(e.HTTPStatus)
		}
	}
	return false
}

// handshake lets mcp-go find the era. It takes any answer to server/discover
// for the later one; a server whose answer does not list the version is asked
// again by the earlier handshake.
func (p *peer) handshake(ctx context.Context, l link, legacy bool, w *Wire) (*conn, *router.CallError) {
	o := &p.client.opts
	for {
		options := []mcpclient.ClientOption{mcpclient.WithDiscoverTimeout(o.ConnectTimeout / 3)}
		if legacy {
			options = append(options, mcpclient.WithLegacyProtocolOnly())
		}
		client := mcpclient.NewClient(l, options...)
		if w != nil {
			client.OnNotification(w.hears)
		}
		if err := client.Start(ctx); err != nil {
			return nil, asCallError(err)
		}
		_, err := client.Initialize(ctx, protocol.InitializeRequest{Params: protocol.InitializeParams{
			ClientInfo:   protocol.Implementation{Name: o.ClientName, Version: o.ClientVersion},
			Capabilities: elicitationOf(o),
		}})
		if err != nil && l.opening().askAgain() {
			continue
		}
		if err != nil {
			return nil, handshakeError(err)
		}
		c := newConn(p.server.Load(), l, client, o)
		if h, ok := l.(*httpLink); ok && !c.modern {
			h.hop.tenure.declare(c.opened, l.opening().document(false))
		}
		if !c.modern || l.opening().settled(c.version) {
			return c, nil
		}
		if legacy { // asked as before, it would answer as before
			return nil, notSent(router.VersionUnsupported, "the server answers the handshake of the earlier era with "+quote(c.version)+", which is of the later one", nil)
		}
		legacy = true
		if h, ok := l.(transport.HTTPConnection); ok {
			h.SetProtocolVersion("")
		}
	}
}

func handshakeError(err error) *router.CallError {
	if v, ok := errors.AsType[protocol.UnsupportedProtocolVersionError](err); ok {
		return notSent(router.VersionUnsupported, "no common protocol version: the server speaks "+quote(v.Version), nil)
	}
	return asCallError(err)
}

// unopened says of any failure on the way that the call was not sent, and names
// the attempt's own time limit, which is none of the caller's clocks.
func (p *peer) unopened(ctx context.Context, e *router.CallError) *router.CallError {
	v := notSent(e.Code, e.Message, e.Err)
	v.RPCCode, v.Data, v.HTTPStatus, v.RetryAfter, v.Stderr = e.RPCCode, e.Data, e.HTTPStatus, e.RetryAfter, e.Stderr
	switch {
	case p.client.base.Err() != nil:
		v.Code, v.Message = router.Transport, "the MCP client was closed while it connected"
	case ctx.Err() != nil:
		v.Code = router.Transport
		v.Message = fmt.Sprintf("no handshake within %v", p.client.opts.ConnectTimeout)
	}
	return v
}
