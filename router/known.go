package router

import (
	"slices"
	"strings"
	"time"

	"junction/state"
)

// known is what a handshake with a server brought: its description and the
// offers that follow from it, or why there is none. It is never changed.
type known struct {
	server      *Server
	description *Description
	err         error
	trusted     bool // the server's own effect hints counted
	tools       map[string]*Tool
	offers      []Offer // the operator's, then those the server declares itself
}

func newKnown(s *Server, d *Description, err error, trusted bool) *known {
	k := &known{server: s, description: d, err: err, trusted: trusted, offers: s.Offers}
	if err != nil {
		return k
	}
	k.tools = make(map[string]*Tool, len(d.Tools))
	for i := range d.Tools {
		k.tools[d.Tools[i].Name] = &d.Tools[i]
	}
	k.offers = append(slices.Clip(s.Offers), declaredOffers(s, d, trusted)...)
	return k
}

// declaredOffers are what the server claims under dev.junction/routing for
// tools that the operator's file says nothing about. A claim made for the server
// as a whole binds its tool when it has a single one.
func declaredOffers(s *Server, d *Description, trusted bool) []Offer {
	var offers []Offer
	for i := range d.Tools {
		t := &d.Tools[i]
		if slices.ContainsFunc(s.Offers, func(o Offer) bool { return o.Tool == t.Name }) {
			continue
		}
		capability := t.Routing.Capability
		if capability == "" && len(d.Tools) == 1 {
			capability = d.Routing.Capability
		}
		if capability == "" {
			continue
		}
		offers = append(offers, Offer{
			Capability: capability,
			Tool:       t.Name,
			Attributes: mergeAttributes(d.Routing.Attributes, t.Routing.Attributes),
			Effect:     hintedEffect(t, trusted),
		})
	}
	return offers
}

// hintedEffect is what a tool's hints say, when they count. An idempotent tool
// without a key may be repeated at the same server only, which is what a ledger
// of its own says.
func hintedEffect(t *Tool, trusted bool) state.Effect {
	switch {
	case !trusted:
		return state.Unsafe
	case t.ReadOnly != nil && *t.ReadOnly:
		return state.Safe
	case t.Idempotent != nil && *t.Idempotent:
		return state.Conditional
	}
	return state.Unsafe
}

// mergeAttributes joins what is declared for the server and for the tool; the
// tool's word stands. language_support is another name of language.
func mergeAttributes(server, tool map[string][]string) map[string][]string {
	if len(server)+len(tool) == 0 {
		return nil
	}
	merged := make(map[string][]string, len(server)+len(tool))
	for _, attributes := range []map[string][]string{server, tool} {
		for name, values := range attributes {
			if strings.EqualFold(name, "language_support") {
				name = "language"
			}
			merged[strings.ToLower(name)] = values
		}
	}
	return merged
}

// latencyP95 and maxConcurrent follow the precedence operator (and Consul),
// then server, then tool.
func (k *known) latencyP95(t *Tool) time.Duration {
	if k.server.LatencyP95 > 0 {
		return k.server.LatencyP95
	}
	if ms := k.description.Routing.LatencyP95MS; ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return time.Duration(max(t.Routing.LatencyP95MS, 0)) * time.Millisecond
}

func (k *known) maxConcurrent(t *Tool) int {
	if k.server.MaxConcurrent > 0 {
		return k.server.MaxConcurrent
	}
	if n := k.description.Routing.MaxConcurrent; n > 0 {
		return n
	}
	return max(t.Routing.MaxConcurrent, 0)
}
