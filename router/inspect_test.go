package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestAnInspectionTellsWhatEachToolGoesByAndWhoSaidSo(t *testing.T) {
	yes := true
	f := newFleet().
		add("other", func(s *router.Server, k *script) {
			k.describe = func(context.Context) (*router.Description, error) {
				t.Error("another server was asked")
				return nil, errors.New("not this one")
			}
			s.Offers = []router.Offer{{Capability: "pay", Tool: "charge", Effect: state.Conditional, Key: "id", Ledger: router.Ledger{Name: "till", Keeps: time.Hour}}}
		}).
		add("third", func(s *router.Server, _ *script) {
			s.Offers = []router.Offer{{Capability: "pay", Tool: "charge", Effect: state.Conditional, Key: "id", Ledger: router.Ledger{Name: "safe"}}}
		}).
		add("shop", func(s *router.Server, k *script) {
			s.Trusted, s.MaxConcurrent = true, 4
			s.Offers = []router.Offer{
				{Capability: "look", Tool: "look", Effect: state.Safe},
				{Capability: "read", Tool: "read"},
				{Capability: "put", Tool: "put"},
				{Capability: "pay", Tool: "pay", Effect: state.Conditional, Key: "id", Ledger: router.Ledger{Name: "till", Keeps: time.Hour}},
				{Capability: "burn", Tool: "burn"},
				{Capability: "gone", Tool: "gone", Effect: state.Unsafe},
			}
			k.tools = []router.Tool{
				{Name: "look"}, {Name: "read", ReadOnly: &yes}, {Name: "put", Idempotent: &yes, Routing: router.Routing{LatencyP95MS: 850}},
				{Name: "pay"}, {Name: "burn"}, {Name: "zap", ReadOnly: &yes}, {Name: "any"},
			}
		})
	inBubble(t, f, router.Options{Max: time.Minute}, func(t *testing.T, r *router.Router) {
		in, err := r.Inspect(t.Context(), "shop")
		if err != nil || in.Err != nil {
			t.Fatal(err, in)
		}
		var got []string
		for _, m := range in.Terms {
			got = append(got, fmt.Sprint(m.Name, " ", m.Effect, " ", m.From, " ", m.Key, " ", m.Ledger.Name, " ", m.Ledger.Keeps, " ", m.Tool != nil))
		}
		want := []string{
			"look safe declared   0s true",
			"read safe hinted   0s true",
			"put conditional hinted _meta.dev.junction/idempotency-key http://shop 24h0m0s true",
			"pay conditional declared id till 1h0m0s true",
			"burn unsafe unsaid   0s true",
			"gone unsafe declared   0s false",
			"any unsafe unsaid   0s true",
			"zap unsafe unsaid   0s true", // called by its name: no hint counts
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("terms\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if shared := in.Terms[3].Sharing; len(shared) != 1 || shared[0] != "other" {
			t.Errorf("the ledger is shared with %v", shared)
		}
		if in.Terms[2].LatencyP95 != 850*time.Millisecond || in.Terms[2].MaxConcurrent != 4 {
			t.Errorf("declared %+v", in.Terms[2])
		}
		if p := in.Policy; p.Idle != time.Minute || p.Max != time.Minute || p.Saturation != time.Minute || p.Attempts != 3 || p.RetryShare != 0.2 {
			t.Errorf("policy %+v", p)
		}
	})
}

func TestAServerThatCannotBeDescribedIsInspectedAsFarAsItIsKnown(t *testing.T) {
	f := newFleet().add("dead", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Unsafe
		k.describe = func(context.Context) (*router.Description, error) { return nil, errors.New("it is off") }
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		in, err := r.Inspect(t.Context(), "dead")
		if err != nil || in.Err == nil || len(in.Terms) != 1 || in.Terms[0].Effect != state.Unsafe || in.Terms[0].Tool != nil {
			t.Fatalf("%+v, %v", in, err)
		}
	})
}

func TestAnInspectionTellsWhichToolsAreHeldBack(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, _ *script) { s.Approval = router.Pinned })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		in, err := r.Inspect(t.Context(), "a")
		if err != nil || len(in.Terms) != 1 || in.Held["do"] == "" {
			t.Errorf("%+v, %v", in, err)
		}
	})
}

func TestAServerThatIsNotKnownIsLookedForOnce(t *testing.T) {
	f := newFleet().add("here", nil)
	f.onRefresh = func() { f.add("late", nil) }
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if in, err := r.Inspect(t.Context(), "late"); err != nil || in.Server.ID != "late" {
			t.Fatalf("%+v, %v", in, err)
		}
		f.onRefresh = nil
		_, err := r.Inspect(t.Context(), "hre")
		unknown, ok := errors.AsType[*router.UnknownServerError](err)
		if !ok || len(unknown.Known) != 2 || !strings.Contains(err.Error(), `no server "hre"; there are here, late`) {
			t.Fatalf("%v", err)
		}
		if f.refreshes != 2 {
			t.Errorf("looked again %d times, want once for each", f.refreshes)
		}
	})
}
