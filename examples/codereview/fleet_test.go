package codereview_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph/workflow"
	"junction/router"
	"junction/router/static"
)

const fleetFile = "fleet/junction.yaml"

// kind is what routing and recovery need to know of an offer: a call that can be
// made in one form of the example can be made in the other.
type kind struct {
	Capability, Tool, Effect, Key, Ledger string
}

// languages are what may be asked of each kind of offer.
func languages(all []router.Offer) map[kind][]string {
	by := map[kind][]string{}
	for _, o := range all {
		k := kind{o.Capability, o.Tool, string(o.Effect), o.Key, o.Ledger.Name + " " + o.Ledger.Keeps.String()}
		by[k] = append(by[k], o.Attributes["language"]...)
	}
	for k := range by {
		slices.Sort(by[k])
		by[k] = slices.Compact(by[k])
	}
	return by
}

func TestTheFleetOffersWhatTheSingleMachineDoes(t *testing.T) {
	single, err := static.Load("junction.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := static.Load(fleetFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	var here, there []router.Offer
	for _, s := range single.Servers {
		here = append(here, s.Offers...)
	}
	for _, s := range fleet.Consul.Services {
		there = append(there, s.Offers...)
	}
	if diff := cmp.Diff(languages(here), languages(there)); diff != "" {
		t.Errorf("offers and their languages (-%s +%s):\n%s", "junction.yaml", fleetFile, diff)
	}
	if diff := cmp.Diff(single.Contracts, fleet.Contracts); diff != "" {
		t.Errorf("contracts (-%s +%s):\n%s", "junction.yaml", fleetFile, diff)
	}
	if len(fleet.Servers) != 0 || fleet.Store != "" {
		t.Errorf("%s has servers or a store of its own: %v", fleetFile, fleet)
	}
}

// These are the names that the example's servers register under.
func TestTheFleetKnowsEveryService(t *testing.T) {
	c, err := static.Load(fleetFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"git", "press", "report", "review-go", "review-js", "review-python", "review-rust", "review-secrets"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(c.Consul.Services))); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	w, err := workflow.Load("review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range w.Uses() {
		offered := false
		for _, s := range c.Consul.Services {
			offered = offered || slices.ContainsFunc(s.Offers, func(o router.Offer) bool { return o.Capability == use.Capability })
		}
		if !offered {
			t.Errorf("node %s: no service offers %q", use.Node, use.Capability)
		}
	}
}
