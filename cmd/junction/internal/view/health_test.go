package view

import (
	"errors"
	"strings"
	"testing"
	"time"

	"junction/router"
)

func TestServersShowsTheHealthAndTheProbeOfEachOffer(t *testing.T) {
	t.Parallel()
	offer := func(capability string) router.Offer { return router.Offer{Capability: capability, Tool: "do"} }
	described := &router.Description{Tools: []router.Tool{{Name: "do"}}}
	list := NewServers([]router.ServerStatus{
		{Server: &router.Server{ID: "a"}, Description: described, Offers: []router.Offer{offer("review"), offer("diff"), offer("report")}},
		{Server: &router.Server{ID: "off"}, Err: errors.New("it is off"), Offers: []router.Offer{offer("review")}},
	}, false)
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	health := []router.ServerHealth{
		{Server: "a", CapabilityHealth: router.CapabilityHealth{Capability: "review", Score: 0.917, Probe: router.ProbeReading{At: at, Took: 12 * time.Millisecond, By: router.ByTool}}},
		{Server: "a", CapabilityHealth: router.CapabilityHealth{Capability: "diff", Score: 1, Probe: router.ProbeReading{At: at, By: router.ByPing, Fault: "out of\x1b[2J memory"}}},
		{Server: "a", CapabilityHealth: router.CapabilityHealth{Capability: "report", Score: 1}},
		{Server: "off", CapabilityHealth: router.CapabilityHealth{Capability: "review", Score: 1}},
	}
	health[1].Ejected = true
	AddHealth(list, health)
	var out strings.Builder
	if err := Servers(&out, list, "none", Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"offers review by do (unsafe)  health 0.92  probe ok (tool, 12ms)\n",
		"offers diff by do (unsafe)  health 1.00, ejected  probe ✗ (ping): out of[2J memory\n",
		"offers report by do (unsafe)  health 1.00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if list[1].Offers[0].Health != nil {
		t.Errorf("a server that is off has the health %+v", list[1].Offers[0].Health)
	}
}
