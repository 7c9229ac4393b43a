package mcp

import "junction/router"

// held refuses a tool that is not as the operator approved it. The router asks
// before it decides; a tool can change between that and the call.
func (p *peer) held(name string, t *tool) *router.CallError {
	s := p.server.Load()
	if s.Approval == "" {
		return nil
	}
	if why := s.Held(name, t.print()); why != "" {
		return notSent(router.CapabilityMismatch, why, nil)
	}
	return nil
}
