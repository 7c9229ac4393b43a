package router_test

import (
	"testing"

	"junction/router"
	"junction/state"
)

func TestACapabilityOfARegistryFindsItsToolAtTheServer(t *testing.T) {
	yes := true
	lint := router.Tool{Name: "lint", ReadOnly: &yes, Routing: router.Routing{
		Capability: "WORK", Attributes: map[string][]string{"language": {"rust"}, "depth": {"deep"}}}}
	named := router.Tool{Name: "work", ReadOnly: &yes}
	for _, c := range []struct {
		name    string
		offer   router.Offer
		tools   []router.Tool
		trusted bool
		need    map[string]any
		tool    string // "" for no candidate
		effect  state.Effect
	}{
		{"the tool it declares for the capability", router.Offer{}, []router.Tool{named, lint}, false, nil, "lint", state.Unsafe},
		{"else the tool of its name", router.Offer{}, []router.Tool{named, {Name: "other"}}, false, nil, "work", state.Unsafe},
		{"else none", router.Offer{}, []router.Tool{{Name: "other"}}, false, nil, "", ""},
		{"a tool that is told stands", router.Offer{Tool: "other"}, []router.Tool{named, {Name: "other"}}, false, nil, "other", state.Unsafe},
		{"what it declares fills in attributes", router.Offer{}, []router.Tool{lint}, false, map[string]any{"language": "rust"}, "lint", state.Unsafe},
		{"the registry's attributes stand above", router.Offer{Attributes: map[string][]string{"language": {"go"}}},
			[]router.Tool{lint}, false, map[string]any{"language": "rust"}, "", ""},
		{"name by name", router.Offer{Attributes: map[string][]string{"language": {"go"}}},
			[]router.Tool{lint}, false, map[string]any{"language": "go", "depth": "deep"}, "lint", state.Unsafe},
		{"a trusted server's hints count", router.Offer{}, []router.Tool{lint}, true, nil, "lint", state.Safe},
		{"for a tool that is told too", router.Offer{Tool: "work"}, []router.Tool{named}, true, nil, "work", state.Safe},
		{"but not above what is told", router.Offer{Effect: state.Unsafe}, []router.Tool{lint}, true, nil, "lint", state.Unsafe},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				c.offer.Capability = "work"
				s.Offers, s.Trusted, k.tools = []router.Offer{c.offer}, c.trusted, c.tools
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				call := work
				call.Need = c.need
				ctx, j := task{person: &person{}}.context(t)
				a, err := r.Do(ctx, call)
				if a.Tool != c.tool || (err == nil) != (c.tool != "") {
					t.Fatalf("tool %q, %v; want %q", a.Tool, err, c.tool)
				}
				if err == nil && j.Known()[0].Effect != c.effect {
					t.Errorf("effect %s, want %s", j.Known()[0].Effect, c.effect)
				}
				if n := len(r.Servers(t.Context())[0].Offers); err == nil && n != 1 {
					t.Errorf("%d offers for one capability", n)
				}
			})
		})
	}
}
