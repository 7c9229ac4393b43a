package mcp

import (
	"context"
	"sync"
	"time"

	"junction/router"
)

// catalog returns what the server can do. Where old says that the last
// reading will not do, it is read again, by one caller while others wait, and no
// more often than the server's pace allows: what a server says of changes, or
// brings about by refusing calls, must not become a stream of lists.
func (c *conn) catalog(ctx context.Context, old func(*catalog) bool) (*catalog, *router.CallError) {
	if k := c.known.Load(); k != nil && !c.stale.Load() && !old(k) {
		return k, nil
	}
	select {
	case <-c.refresh:
		defer func() { c.refresh <- struct{}{} }()
	case <-ctx.Done():
		return nil, ended(ctx, false)
	}
	last := c.known.Load()
	if last != nil && (!c.stale.Load() && !old(last) || !c.pace.take(time.Now())) {
		return last, nil
	}
	announced := c.announced.Load()
	k, e := c.reread(ctx, last)
	if e == nil && c.noticed != nil {
		c.noticed(k, announced)
	}
	return k, e
}

// reread reads the tools; the caller holds the token of c.refresh, or is alone.
func (c *conn) reread(ctx context.Context, last *catalog) (*catalog, *router.CallError) {
	c.announced.Store(false) // a change told from here on is a new one
	c.stale.Store(false)
	k, e := c.readCatalog(ctx, last)
	if e != nil {
		c.stale.Store(true)
		return nil, e
	}
	c.known.Store(k)
	return k, nil
}

// never is for readings that any catalog at hand serves.
func never(*catalog) bool { return false }

// Readings of one server's tools: a few at once, then one a second.
const (
	readBurst = 4
	readEvery = time.Second
)

// pace is a token bucket for readings of one server, over all its connections.
type pace struct {
	mu   sync.Mutex
	full time.Time // when all tokens are back
}

// take reports whether a reading may begin now, and counts it.
func (p *pace) take(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full.Before(now) {
		p.full = now
	}
	if p.full.Sub(now) > (readBurst-1)*readEvery {
		return false
	}
	p.full = p.full.Add(readEvery)
	return true
}
