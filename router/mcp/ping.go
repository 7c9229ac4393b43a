package mcp

import (
	"context"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
)

var _ router.Pinger = (*Client)(nil)

// Ping asks s whether it lives, connecting first if need be: ping in the earlier era,
// server/discover in the later one, which has no ping. Any answer will do: a server that
// does not know the method is there. Every error is a *router.CallError.
func (c *Client) Ping(ctx context.Context, s *router.Server) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = during(recovered(r), s.ID, "ping")
		}
	}()
	p, err := c.peer(s)
	if err != nil {
		return err
	}
	e := p.ping(ctx)
	if e != nil && e.Code == router.SessionExpired {
		e = p.ping(ctx) // the new session's word counts
	}
	if e == nil {
		return nil
	}
	e = p.secrets.mask(during(e, s.ID, "ping"))
	e.Execution = state.NotExecuted // it has no effect
	return e
}

func (p *peer) ping(ctx context.Context) *router.CallError {
	conn, e := p.get(ctx)
	if e != nil {
		return e
	}
	defer conn.release()
	method := string(protocol.MethodPing)
	if conn.modern {
		method = string(protocol.MethodServerDiscover)
	}
	resp, e := conn.send(ctx, method, []byte("{}"), nil)
	if e == nil && resp.Error != nil {
		e = refused(resp.Error)
	}
	if e == nil || e.RPCCode == protocol.METHOD_NOT_FOUND {
		return nil
	}
	p.lost(conn, e)
	return e
}
