package static

import (
	"junction/router"
	"junction/state"
	"junction/state/document"
)

// claimant is whose offers are read.
type claimant struct {
	name   string                      // for faults: "server x"
	ledger func(*document.Node) string // names the ledger it has unless another is said
}

// offer reads a claim to a capability.
func (r *reader) offer(who claimant, n *document.Node) router.Offer {
	m := n.Mapping("capability", "tool", "attributes", "effect", "key", "ledger", "with", "result", "probe", "verify")
	o := router.Offer{
		Capability: m.Require("capability").Word(),
		Tool:       m.Require("tool").Word(),
		Attributes: r.attributes(m.Get("attributes")),
		Effect:     effect(m.Get("effect")),
		Key:        m.Get("key").Word(),
		With:       mapping(m.Get("with"), "with"),
		Result:     mapping(m.Get("result"), "result"),
	}
	o.Verify = r.verify(m.Get("verify"), o.Effect)
	name(m.Get("capability"), "capability", o.Capability)
	if o.Effect == state.Conditional {
		r.conditional(who, m, &o)
	} else {
		unconditional(m, o.Effect)
	}
	if p := m.Get("probe"); p.Mapping() != nil {
		o.Probe = p.Value()
		if o.Effect != state.Safe {
			p.Fault("declare effect: safe when the tool only reads, or leave the probe out",
				"a probe calls the tool again and again, so it needs effect: safe")
		}
	}
	return o
}

// effect reads the declared effect. Unsaid it is empty: what a server that is
// trusted hints, else unsafe.
func effect(n *document.Node) state.Effect {
	if n == nil {
		return ""
	}
	return state.Effect(n.OneOf(string(state.Safe), string(state.Conditional), string(state.Unsafe)))
}

// attributes reads texts or lists of texts by name.
func (r *reader) attributes(n *document.Node) map[string][]string {
	entries := n.Mapping().Entries()
	if len(entries) == 0 {
		return nil
	}
	all := make(map[string][]string, len(entries))
	for _, e := range entries {
		name(e.At, "attribute", e.Key)
		if e.Node.Kind != document.List {
			all[e.Key] = []string{r.text(e.Node)}
			continue
		}
		for _, item := range e.Node.List() {
			all[e.Key] = append(all[e.Key], r.text(item))
		}
		if len(all[e.Key]) == 0 && len(e.Node.List()) == 0 {
			e.Node.Fault("leave it out when nothing is said about it", "the attribute %s has no value, so nothing would match it", e.Key)
		}
	}
	return all
}

// conditional reads what only a mutation under a key has: the key's place and
// the ledger that knows it.
func (r *reader) conditional(who claimant, m *document.Mapping, o *router.Offer) {
	key := m.Get("key")
	switch with := m.Get("with"); {
	case key == nil:
		m.Get("effect").Fault("add key: with the argument that carries the idempotency key, or _meta.NAME; without one the effect is unsafe",
			"effect: conditional needs a key")
	case o.Key == "_meta.":
		key.Fault("such as _meta.idempotencyKey", "nothing follows _meta. here")
	case with != nil && with.Kind == document.Map && with.Mapping().Has(o.Key):
		with.Mapping().Get(o.Key).Fault("remove it here", "the argument %q carries the key, which the router fills in", o.Key)
	}
	o.Ledger = r.ledger(who, m)
	r.shared = append(r.shared, sharing{who: who.name, at: m.Node(), with: m.Get("with"), offer: *o})
}

// unconditional reports what only a conditional offer may have.
func unconditional(m *document.Mapping, e state.Effect) {
	says := "is " + string(e)
	if e == "" {
		if m.Has("effect") {
			return // a misspelt effect is a fault already
		}
		says = "says none"
	}
	for _, k := range []string{"key", "ledger"} {
		if n := m.Get(k); n != nil {
			n.Fault("say effect: conditional, or remove it", "%s is only for effect: conditional, and this offer %s", k, says)
		}
	}
}

// repeated reports a tool that is offered twice for one capability.
func repeated(offers []router.Offer, list *document.Node) {
	type claim struct{ capability, tool string }
	seen := map[claim]bool{}
	for i, n := range list.List() {
		c := claim{offers[i].Capability, offers[i].Tool}
		if seen[c] && c.capability != "" && c.tool != "" {
			n.Fault("put their attributes together", "%s is offered for %s twice", c.tool, c.capability)
		}
		seen[c] = true
	}
}
