package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"junction/router"
)

// peer keeps the one connection to a server: it opens it when it is needed,
// lets callers share the attempt, and paces attempts that fail.
type peer struct {
	client  *Client
	server  atomic.Pointer[router.Server]
	secrets secrets
	wallet  *wallet
	live    atomic.Pointer[conn] // nil: not connected
	tally   *tally               // outlives p
	pace    pace                 // of readings of the tools

	mu       sync.Mutex
	dialing  *dialing
	failures int       // attempts failed in a row
	deaths   int       // connections lost in a row before a call succeeded on them
	retryAt  time.Time // no attempt before
	last     *router.CallError
	known    *catalog // of the last connection
	legacy   bool     // the probe for the later era goes unanswered
	drift    drift
	closed   bool
	conns    map[*conn]struct{} // those whose link is not stopped yet
	news     []State            // to be told

	telling sync.Mutex // held while news are told, one after another
}

// longestAsked bounds what a server's Retry-After can hold its own next
// handshake off: no outage is for ever.
const longestAsked = time.Hour

// dialing is an attempt that callers share.
type dialing struct {
	done chan struct{}
	conn *conn
	err  *router.CallError
}

func newPeer(c *Client, s *router.Server, t *tally) *peer {
	p := &peer{client: c, tally: t, secrets: secretsOf(&s.Dial), conns: map[*conn]struct{}{}}
	p.wallet = newWallet(&s.Dial, p.secrets, func(n int) time.Duration { return c.opts.Backoff.delay(s.ID, n) })
	p.server.Store(s)
	return p
}

// serves reports whether p's connection is the one that s asks for.
func (p *peer) serves(s *router.Server) bool {
	is := p.server.Load()
	if is == s {
		return true
	}
	if !sameDial(&is.Dial, &s.Dial) {
		return false
	}
	p.server.Store(s)
	return true
}

func sameDial(a, b *router.Dial) bool {
	return a.Command == b.Command && a.Dir == b.Dir && a.URL == b.URL && a.ServerName == b.ServerName && a.CAFile == b.CAFile && slices.Equal(a.Args, b.Args) &&
		maps.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers) && slices.EqualFunc(a.Auth, b.Auth, sameCredential)
}

// tell tells of states in the order in which they came about, which is that of mu: an
// end that is noticed late must not be heard after what came next.
func (p *peer) tell() {
	p.telling.Lock()
	defer p.telling.Unlock()
	for {
		p.mu.Lock()
		news := p.news
		p.news = nil
		p.mu.Unlock()
		if len(news) == 0 {
			return
		}
		for _, s := range news {
			p.client.opts.OnStateChange(p.server.Load().ID, s)
		}
	}
}

// note has a state of the connection told, unless p is closed: who has the server now may
// have told of it since. mu is held.
func (p *peer) note(s State) {
	if !p.closed {
		p.news = append(p.news, s)
	}
}

// becomes is a state that nothing else depends on.
func (p *peer) becomes(s State) {
	p.mu.Lock()
	p.news = append(p.news, s)
	p.mu.Unlock()
	p.tell()
}

// get returns the connection, in use until its release is called. It opens one
// where there is none; ctx bounds this caller's wait, not the attempt.
func (p *peer) get(ctx context.Context) (*conn, *router.CallError) {
	for {
		if c := p.live.Load(); c != nil && c.acquire() {
			p.keep(c)
			return c, nil
		}
		d, e := p.attempt()
		if e != nil {
			return nil, e
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, ended(ctx, false)
		}
		if d.err != nil {
			return nil, d.err
		}
		if d.conn.acquire() {
			return d.conn, nil
		}
		// Lost already: its next attempt is paced like any other.
		p.drop(d.conn)
	}
}

// attempt joins the attempt under way or begins one, unless it is too early.
func (p *peer) attempt() (*dialing, *router.CallError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, notSent(router.Transport, errClosed.Error(), errClosed)
	}
	if p.dialing != nil {
		return p.dialing, nil
	}
	d := &dialing{done: make(chan struct{})}
	if c := p.live.Load(); c != nil {
		select {
		case <-c.link.gone():
			p.lostLocked(c)
			p.note(Lost)
		default:
			d.conn = c
			close(d.done)
			return d, nil
		}
	}
	if wait := time.Until(p.retryAt); wait > 0 {
		return nil, p.tooEarly(wait)
	}
	p.dialing = d
	p.note(Connecting)
	p.client.work.Go(func() { p.dial(d) })
	return d, nil
}

// tooEarly fails fast in a back-off. A refusal that waiting does not cure keeps
// its code.
func (p *peer) tooEarly(wait time.Duration) *router.CallError {
	e := notSent(router.Transport, "", nil)
	if p.last != nil {
		switch p.last.Code {
		case router.AuthRequired, router.AuthMismatch, router.VersionUnsupported:
			e.Code = p.last.Code
		}
		e.Message, e.Stderr, e.HTTPStatus = p.last.Message, p.last.Stderr, p.last.HTTPStatus
	}
	e.RetryAfter = wait
	e.Message = fmt.Sprintf("not connected, next attempt in %v: %s", wait.Round(time.Millisecond), e.Message)
	return e
}

// dial runs one attempt and tells those who wait for it.
func (p *peer) dial(d *dialing) {
	p.tell()
	ctx, cancel := context.WithTimeout(p.client.base, p.client.opts.ConnectTimeout)
	defer cancel()
	begun := time.Now()
	c, e := p.open(ctx)
	p.handshook(time.Since(begun), e)
	p.mu.Lock()
	p.dialing = nil
	now := Ready
	old := p.live.Load() // whose session ends soon
	switch {
	case e != nil:
		p.failures++
		if p.last = e; old == nil {
			now = Waiting
		}
		p.legacy = false // what failed may have been the era
		p.retryAt = time.Now().Add(max(min(e.RetryAfter, longestAsked), p.client.opts.Backoff.delay(p.server.Load().ID, p.failures)))
		d.err = e
	case p.closed:
		d.err = notSent(router.Transport, errClosed.Error(), errClosed)
		p.client.work.Go(func() { c.end(p.client.base, true) })
	default:
		p.failures, p.last, p.known = 0, nil, c.known.Load()
		p.live.Store(c)
		p.conns[c] = struct{}{}
		d.conn = c
		p.client.work.Go(func() { p.watch(c) })
	}
	p.note(now)
	p.mu.Unlock()
	if old != nil && e == nil {
		old.retire()
	}
	p.tell()
	close(d.done)
}

// handshook tells of a handshake that ended by itself.
func (p *peer) handshook(took time.Duration, e *router.CallError) {
	var failed router.Code
	switch {
	case e == nil:
	case p.client.base.Err() != nil:
		return // we end, and it with us
	default:
		failed = e.Code
	}
	p.client.opts.OnHandshake(p.server.Load().ID, took, failed)
}

// watch waits for a connection's end, whoever brings it about, and clears up.
func (p *peer) watch(c *conn) {
	select {
	case <-c.link.gone():
	case <-c.idle:
	}
	p.drop(c)
	c.end(context.Background(), false) // the link bounds its own end
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// drop stops using a connection; the next use opens another. Calls in flight
// on it may finish.
func (p *peer) drop(c *conn) {
	p.mu.Lock()
	was := p.live.Load() == c
	if was {
		p.lostLocked(c)
		p.note(Lost)
	}
	p.mu.Unlock()
	c.retire()
	p.tell()
}

// lostLocked forgets the connection. One that dies before any call succeeded
// on it, twice running, is paced: it may die on every start.
func (p *peer) lostLocked(c *conn) {
	p.live.CompareAndSwap(c, nil)
	p.known = c.known.Load()
	if c.proven.Load() || c.superseded.Load() {
		p.deaths = 0
		return
	}
	if l, isChild := c.link.(*stdio); isChild {
		select {
		case <-l.gone():
			p.last = l.death(false)
		default:
		}
	}
	if p.deaths++; p.deaths > 1 {
		p.retryAt = time.Now().Add(p.client.opts.Backoff.delay(p.server.Load().ID, p.deaths-1))
	}
}

// refusedBy is drop for a server that no longer accepts connections.
func (p *peer) refusedBy(c *conn, e *router.CallError) {
	p.mu.Lock()
	was := p.live.CompareAndSwap(c, nil)
	if was {
		p.failures++
		p.last, p.known = e, c.known.Load()
		p.retryAt = time.Now().Add(p.client.opts.Backoff.delay(p.server.Load().ID, p.failures))
		p.note(Waiting)
	}
	p.mu.Unlock()
	c.retire()
	p.tell()
}

// retire lets calls in flight finish and then ends the connection.
func (p *peer) retire() {
	p.mu.Lock()
	p.note(Closed)
	p.closed = true
	p.mu.Unlock()
	if c := p.live.Swap(nil); c != nil {
		c.retire()
	}
	p.wallet.close()
	p.tell()
}

// close ends every connection at once. When ctx ends first, by force.
func (p *peer) close(ctx context.Context) {
	p.retire()
	p.mu.Lock()
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	var ending sync.WaitGroup
	for _, c := range conns {
		ending.Go(func() { c.end(ctx, true) })
	}
	ending.Wait()
	p.wallet.wait()
}
