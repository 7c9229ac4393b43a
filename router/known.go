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
	held        map[string]string    // tools that must not be called, and why
	heldAs      map[string]ToolPrint // what they were then
	offers      []Offer              // the operator's and the registry's, then those the server declares itself
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
	k.held, k.heldAs = heldTools(s, d)
	declared := declaredOffers(d, trusted)
	k.offers = k.bind(s.Offers, declared)
	bound := k.offers
	for _, o := range declared {
		if !slices.ContainsFunc(bound, func(b Offer) bool { return b.Tool == o.Tool }) {
			k.offers = append(k.offers, o)
		}
	}
	return k
}

// bind gives each offer of the operator and the registry its tool and effect. A
// capability of which no tool is told is done by the tools that the server
// declares for it, whose attributes count where nobody else says any, else by
// the tool of its name. An effect that nobody told is what the hints say.
func (k *known) bind(offers, declared []Offer) []Offer {
	bound := make([]Offer, 0, len(offers)+len(declared))
	for _, o := range offers {
		if o.Tool != "" {
			bound = append(bound, k.hinted(o))
			continue
		}
		before := len(bound)
		for _, own := range declared {
			if strings.EqualFold(own.Capability, o.Capability) {
				b := o
				b.Tool, b.Attributes = own.Tool, mergeAttributes(own.Attributes, o.Attributes)
				bound = append(bound, k.hinted(b))
			}
		}
		if len(bound) == before {
			o.Tool = o.Capability
			bound = append(bound, k.hinted(o))
		}
	}
	return bound
}

// hinted fills in an effect that nobody told.
func (k *known) hinted(o Offer) Offer {
	if t := k.tools[o.Tool]; t != nil && o.Effect == "" {
		o.Effect = hintedEffect(t, k.trusted)
	}
	return o
}

// declaredOffers are what the server claims under dev.junction/routing. A claim
// made for the server as a whole binds its tool when it has a single one.
func declaredOffers(d *Description, trusted bool) []Offer {
	var offers []Offer
	for i := range d.Tools {
		t := &d.Tools[i]
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
