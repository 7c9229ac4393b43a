package statetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"junction/state"
)

// RunHealth checks the contract of a health history. Open is called once for each
// theme and closes its store with t.Cleanup; others may use the same one.
func RunHealth(t *testing.T, open func(t *testing.T) state.HealthStore) {
	for _, theme := range []struct {
		name string
		test func(t *testing.T, s state.HealthStore)
	}{
		{"a sample comes back whole", healthWhole},
		{"a minute written again stands in place of the one before", healthAgain},
		{"workers and capabilities have samples of their own", healthApart},
		{"a span of time begins with its first moment and ends before its last", healthSpans},
		{"everybody's come in order", healthOrder},
		{"of what nobody wrote there is nothing", healthNothing},
		{"what goes in and comes out is nobody else's", healthAliasing},
		{"what is over a day old may go, what is younger stays", healthKept},
		{"of more than the bound the first stay", healthBound},
		{"a context that has ended ends every call", healthCancelled},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.test(t, open(t)) })
	}
}

// minuteAgo is the beginning of a minute some minutes ago.
func minuteAgo(n int) time.Time {
	return time.Now().UTC().Truncate(time.Minute).Add(-time.Duration(n) * time.Minute)
}

func sampleOf(server string, minute time.Time) state.HealthSample {
	return state.HealthSample{Server: server, Capability: "code-review", Worker: "w", Minute: minute, Calls: 1, Score: 1}
}

func putHealth(t *testing.T, s state.HealthStore, samples ...state.HealthSample) {
	t.Helper()
	must(t, s.PutHealth(t.Context(), samples))
}

func wantHealth(t *testing.T, s state.HealthStore, server string, from, to time.Time, want ...state.HealthSample) {
	t.Helper()
	got, err := s.Health(t.Context(), server, from, to)
	must(t, err)
	equal(t, "samples", got, want)
}

func healthWhole(t *testing.T, s state.HealthStore) {
	whole := state.HealthSample{
		Server: "srv {1} \"%\" " + newID(), Capability: "code review \"x\"", Worker: "host/1 \"a\"", Minute: minuteAgo(1),
		Calls: 40, Failures: 31, ToolErrors: 2, Codes: map[string]int{"MCP_TIMEOUT": 30, "MCP_TRANSPORT": 1},
		P95: 5*time.Second + 1, InFlight: 7, Score: 0.0625, Ejected: true, Probe: "no answer within 5s",
	}
	putHealth(t, s, whole)
	wantHealth(t, s, whole.Server, minuteAgo(5), minuteAgo(0), whole)
	local := whole
	local.Minute = whole.Minute.In(time.FixedZone("elsewhere", 3600))
	putHealth(t, s, local)
	wantHealth(t, s, whole.Server, minuteAgo(5), minuteAgo(0), whole)
	must(t, s.PutHealth(t.Context(), nil))
}

func healthAgain(t *testing.T, s state.HealthStore) {
	h := sampleOf(newID(), minuteAgo(0))
	putHealth(t, s, h)
	h.Calls, h.Failures = 9, 3
	putHealth(t, s, h)
	putHealth(t, s, h)
	wantHealth(t, s, h.Server, minuteAgo(1), minuteAgo(-1), h)
}

func healthApart(t *testing.T, s state.HealthStore) {
	one := sampleOf(newID(), minuteAgo(2))
	two, three := one, one
	two.Worker, two.Calls = "x", 5
	three.Capability, three.Calls = "build", 7
	putHealth(t, s, two, one, three)
	wantHealth(t, s, one.Server, minuteAgo(9), minuteAgo(0), three, one, two)
}

func healthSpans(t *testing.T, s state.HealthStore) {
	server := newID()
	var all []state.HealthSample
	for n := 25; n >= 1; n-- { // over several hashes of a store that has such
		all = append(all, sampleOf(server, minuteAgo(n)))
	}
	putHealth(t, s, all...)
	wantHealth(t, s, server, all[3].Minute, all[17].Minute, all[3:17]...)
	wantHealth(t, s, server, all[3].Minute.Add(time.Nanosecond), all[17].Minute.Add(time.Nanosecond), all[4:18]...)
	wantHealth(t, s, server, time.Time{}, minuteAgo(-60*24*400), all...)
	wantHealth(t, s, server, all[3].Minute, all[3].Minute)
	wantHealth(t, s, server, all[9].Minute, all[3].Minute)
}

func healthOrder(t *testing.T, s state.HealthStore) {
	a, b := "a-"+newID(), "b-"+newID()
	mine := map[string]bool{a: true, b: true}
	putHealth(t, s, sampleOf(b, minuteAgo(1)), sampleOf(b, minuteAgo(2)), sampleOf(a, minuteAgo(1)))
	got, err := s.Health(t.Context(), "", minuteAgo(5), minuteAgo(0))
	must(t, err)
	var order []string
	for _, h := range got {
		if mine[h.Server] {
			order = append(order, fmt.Sprintf("%s %d", h.Server[:1], int(minuteAgo(0).Sub(h.Minute).Minutes()+0.5)))
		}
	}
	if len(order) == 3 && order[0] == "b 3" { // a minute went by meanwhile
		equal(t, "order", order, []string{"b 3", "a 2", "b 2"})
		return
	}
	equal(t, "order", order, []string{"b 2", "a 1", "b 1"})
}

func healthNothing(t *testing.T, s state.HealthStore) {
	wantHealth(t, s, newID(), time.Time{}, time.Now().Add(time.Hour))
}

func healthAliasing(t *testing.T, s state.HealthStore) {
	h := sampleOf(newID(), minuteAgo(1))
	h.Codes = map[string]int{"MCP_TIMEOUT": 1}
	want := h.Clone()
	putHealth(t, s, h)
	h.Codes["MCP_TIMEOUT"] = 99
	got, err := s.Health(t.Context(), h.Server, minuteAgo(2), minuteAgo(0))
	must(t, err)
	equal(t, "samples", got, []state.HealthSample{want})
	got[0].Codes["MCP_TIMEOUT"] = 98
	wantHealth(t, s, h.Server, minuteAgo(2), minuteAgo(0), want)
}

func healthKept(t *testing.T, s state.HealthStore) {
	h := sampleOf(newID(), minuteAgo(24*60-1))
	old := sampleOf(h.Server, minuteAgo(40*24*60))
	putHealth(t, s, old, h)
	putHealth(t, s, sampleOf("x-"+newID(), minuteAgo(0)))
	wantHealth(t, s, h.Server, minuteAgo(24*60), minuteAgo(0), h)
	got, err := s.Health(t.Context(), h.Server, time.Time{}, minuteAgo(30*24*60))
	must(t, err)
	equal(t, "samples of forty days ago", len(got), 0)
}

func healthBound(t *testing.T, s state.HealthStore) {
	server, minute := newID(), minuteAgo(1).Truncate(10*time.Minute)
	var all []state.HealthSample
	for n := range 10*state.MostHealth + 10 {
		h := sampleOf(server, minute)
		h.Worker = fmt.Sprintf("w%06d", n)
		all = append(all, h)
	}
	putHealth(t, s, all...)
	got, err := s.Health(t.Context(), server, minute, minute.Add(time.Minute))
	must(t, err)
	if len(got) < state.MostHealth || len(got) > 10*state.MostHealth {
		t.Errorf("%d samples of %d are kept", len(got), len(all))
	}
	equal(t, "the first", got[0], all[0])
	again := all[0]
	again.Calls = 77
	putHealth(t, s, again) // one that is there can still be written again
	got, err = s.Health(t.Context(), server, minute, minute.Add(time.Minute))
	must(t, err)
	equal(t, "the first", got[0], again)
}

func healthCancelled(t *testing.T, s state.HealthStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, s.PutHealth(ctx, []state.HealthSample{sampleOf(newID(), minuteAgo(1))}), context.Canceled)
	_, err := s.Health(ctx, "", minuteAgo(5), minuteAgo(0))
	wantErr(t, err, context.Canceled)
}
