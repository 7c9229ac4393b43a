package mcp

import (
	"context"
	"time"

	"junction/router"
	"junction/state"
)

// Describe returns the current description of s, connecting first if need be.
// It is shared: do not change it. A failed reading is a *router.CallError.
func (c *Client) Describe(ctx context.Context, s *router.Server) (d *router.Description, err error) {
	defer func() {
		if r := recover(); r != nil {
			d, err = nil, during(recovered(r), s.ID, "description")
		}
	}()
	p, err := c.peer(s)
	if err != nil {
		return nil, err
	}
	d, e := p.describe(ctx)
	if e != nil {
		// Reading what a server can do has no effect.
		e = p.secrets.mask(during(e, s.ID, "description"))
		e.Execution = state.NotExecuted
		return nil, e
	}
	return d, nil
}

func (p *peer) describe(ctx context.Context) (*router.Description, *router.CallError) {
	for again := false; ; again = true {
		conn, e := p.get(ctx)
		if e != nil {
			return nil, e
		}
		k, e := conn.catalog(ctx, p.client.expired)
		conn.release()
		if e == nil && (again || !conn.superseded.Load()) {
			return k.description, nil
		}
		if e == nil {
			continue // what the new session says counts
		}
		if !p.lost(conn, e) || again {
			return nil, e
		}
	}
}

// expired reports whether a catalog is older than its server or we allow.
func (c *Client) expired(k *catalog) bool {
	allowed := c.opts.Revalidate
	if k.ttl > 0 {
		allowed = min(allowed, k.ttl)
	}
	return time.Since(k.read) > allowed
}
