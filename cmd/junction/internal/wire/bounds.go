package wire

import "junction/router/mcp"

// Bounds are those of the client that speaks to the servers.
func (a *App) Bounds() mcp.Policy { return a.client.Policy() }

// Strays is what a server sent that belonged to no request.
func (a *App) Strays(server string) map[mcp.Stray]uint64 { return a.client.Strays(server) }

// Declares reports whether the servers file says what a service in Consul offers.
func (a *App) Declares(service string) bool {
	return a.config != nil && a.config.Consul != nil && a.config.Consul.Services[service].Offers != nil
}
