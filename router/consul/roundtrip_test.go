package consul_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/consul"
	"junction/router/consul/consultest"
	"junction/state"
)

func TestWhatAServerRegistersIsWhatARouterFinds(t *testing.T) {
	t.Parallel()
	a := consultest.Start(t)
	tests := []struct {
		name string
		s    consul.Service
		want []router.Offer // nil: what was registered
	}{
		{name: "one", s: consul.Service{
			Name: "reviewer", Address: "127.0.0.1:8081", Path: "/mcp", LatencyP95: 250 * time.Millisecond, MaxConcurrent: 32, Depth: "deep",
			Offers: []router.Offer{{
				Capability: "code-review", Tool: "review", Effect: state.Safe,
				Attributes: map[string][]string{"language": {"javascript", "typescript"}, "review_depth": {"deep"}},
			}},
		}},
		{name: "several, with a ledger", s: consul.Service{
			Name: "shop", ID: "shop-1", Address: "[::1]:8082", Scheme: "https", Path: "/a/mcp",
			Offers: []router.Offer{
				{Capability: "charge", Tool: "charge", Effect: state.Conditional, Key: "_meta.key", Ledger: router.Ledger{Name: "billing", Keeps: 90 * time.Minute}},
				{Capability: "charge-back", Tool: "refund", Effect: state.Conditional, Key: "key", Ledger: router.Ledger{Name: "refunds", Keeps: 24 * time.Hour}},
				{Capability: "prices", Tool: "list", Effect: state.Safe},
				{Capability: "ship", Effect: state.Unsafe},
			},
		}, want: []router.Offer{
			{Capability: "charge", Tool: "charge", Effect: state.Conditional, Key: "_meta.key", Ledger: router.Ledger{Name: "billing", Keeps: 90 * time.Minute}},
			{Capability: "charge-back", Tool: "refund", Effect: state.Conditional, Key: "key", Ledger: router.Ledger{Name: "refunds", Keeps: 24 * time.Hour}},
			{Capability: "prices", Tool: "list", Effect: state.Safe},
			{Capability: "ship"}, // unsafe is what is unsaid
		}},
	}
	d := follow(t, consul.Options{Address: a.Address(), Trust: true})
	for _, tt := range tests {
		r, err := consul.Register(t.Context(), consul.Options{Address: a.Address()}, tt.s)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		snapshot, _ := d.until(tt.name+" is found", has(r.ID()))
		got := snapshot.Servers[0]
		if tt.want == nil {
			tt.want = tt.s.Offers
		}
		if diff := cmp.Diff(tt.want, got.Offers); diff != "" {
			t.Errorf("%s: offers %s", tt.name, diff)
		}
		scheme := "http"
		if tt.s.Scheme != "" {
			scheme = tt.s.Scheme
		}
		if want := scheme + "://" + tt.s.Address + tt.s.Path; got.Dial.URL != want || got.Name != tt.s.Name {
			t.Errorf("%s: %s at %s, want %s", tt.name, got.Name, got.Dial.URL, want)
		}
		if got.LatencyP95 != tt.s.LatencyP95 || got.MaxConcurrent != tt.s.MaxConcurrent || got.Depth != tt.s.Depth {
			t.Errorf("%s: declared %v, %d, %q", tt.name, got.LatencyP95, got.MaxConcurrent, got.Depth)
		}
		if p := d.Problems(); len(p) > 0 {
			t.Errorf("%s: problems %v", tt.name, p)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		d.until(tt.name+" has left", has(""))
	}
}
