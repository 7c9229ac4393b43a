package wire

import (
	"context"

	"junction/router"
	"junction/router/mcp"
	"junction/router/static"
)

// Open makes a connection of its own to a server, for a bridge.
func (a *App) Open(ctx context.Context, s *router.Server, g mcp.Greeting, e mcp.Events) (*mcp.Wire, *router.CallError) {
	return a.client.Open(ctx, s, g, e)
}

// Discovery is what the router knows of servers.
func (a *App) Discovery() router.Discovery { return a.servers }

// Proxy is what the servers file says of bridges; nothing without one.
func (a *App) Proxy() static.Proxy {
	if a.config == nil {
		return static.Proxy{}
	}
	return a.config.Proxy
}
