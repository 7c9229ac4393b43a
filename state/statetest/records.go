package statetest

import (
	"testing"
	"time"

	"junction/state"
)

func records(t *testing.T, s state.Store) {
	only := func(t *testing.T, id string) state.Record {
		t.Helper()
		rs := load(t, s, id, 0).Records
		if len(rs) != 1 {
			t.Fatalf("%d records, want 1: %+v", len(rs), rs)
		}
		return rs[0]
	}
	put := func(t *testing.T, l state.Lease, rs ...state.Record) {
		t.Helper()
		must(t, s.PutRecords(t.Context(), l, rs))
	}
	t.Run("a record comes back whole", func(t *testing.T) {
		th, l := running(t, s)
		r := state.Record{
			Thread: th.ID, Seq: 1, Step: 2, Task: "t", Node: "n", Hop: "h-" + th.ID, Name: "@k", Round: 2, Attempt: 3,
			Capability: "code-review", Server: "srv", Endpoint: "http://x", Tool: "lint", Effect: state.Conditional, Key: "key",
			Ledger: "billing", Keeps: time.Hour, Max: time.Minute, InputHash: "in", OutputHash: "out", Status: state.CallError,
			Execution: state.NotExecuted, Code: "MCP_SERVER_OVERLOAD", Message: "429", IsError: true,
			Started: time.Date(2026, 11, 29, 8, 0, 0, 123_000_000, time.UTC), Duration: 1234567 * time.Nanosecond,
			Decision: raw(`{"why":"<best>"}`), Result: raw(`{"a":1}`), Final: true,
		}
		put(t, l, r)
		equal(t, "record", only(t, th.ID), r)
	})
	t.Run("a repeated record is harmless, an outcome replaces its intent", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		put(t, l, r)
		put(t, l, r, success(r, `1`), success(r, `1`))
		got := only(t, th.ID)
		equal(t, "status and result", []string{string(got.Status), string(got.Result)}, []string{"success", "1"})
	})
	t.Run("an intent never replaces an outcome", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		put(t, l, success(r, `1`))
		put(t, l, r)
		equal(t, "status", only(t, th.ID).Status, state.CallSuccess)
	})
	t.Run("a final result is reached once: what comes later changes nothing", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		put(t, l, success(r, `1`))
		late := r
		late.Status, late.Execution, late.Message = state.CallError, state.Unknown, "the worker stopped"
		put(t, l, late)
		put(t, l, success(r, `2`))
		got := only(t, th.ID)
		equal(t, "status and result", []string{string(got.Status), string(got.Result)}, []string{"success", "1"})
	})
	t.Run("the store stamps an intent, and its outcome keeps that time", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		put(t, l, r)
		stamped := only(t, th.ID).Started
		if stamped.Before(th.Created) {
			t.Fatalf("started %v, before its thread (%v)", stamped, th.Created)
		}
		put(t, l, success(r, `1`))
		if got := only(t, th.ID).Started; !got.Equal(stamped) {
			t.Errorf("started moved from %v to %v", stamped, got)
		}
	})
	t.Run("rounds and attempts are records of their own, in order", func(t *testing.T) {
		th, l := running(t, s)
		var rs []state.Record
		for _, at := range [][2]int{{2, 1}, {1, 2}, {1, 10}, {1, 1}} {
			r := record("h-"+th.ID, 1)
			r.Round, r.Attempt = at[0], at[1]
			rs = append(rs, r)
		}
		put(t, l, rs...)
		var got [][2]int
		for _, r := range load(t, s, th.ID, 0).Records {
			got = append(got, [2]int{r.Round, r.Attempt})
		}
		equal(t, "order", got, [][2]int{{1, 1}, {1, 2}, {1, 10}, {2, 1}})
	})
	t.Run("a late outcome of a committed superstep is a call record without its result", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		put(t, l, r)
		commit(t, s, step(l, 1))
		put(t, l, success(r, `"late"`))
		rs, err := s.Records(t.Context(), state.RecordFilter{Thread: th.ID})
		must(t, err)
		equal(t, "records", len(rs), 1)
		equal(t, "status", rs[0].Status, state.CallSuccess)
		equal(t, "result", string(rs[0].Result), "")
	})
}

func recordFilters(t *testing.T, s state.Store) {
	// Servers of this test alone, so that other threads of a shared store do
	// not show.
	x, y := "x-"+newID(), "y-"+newID()
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	put := func(l state.Lease, hop, server string, after time.Duration) {
		r := record(hop, 1)
		r.Server, r.Started = server, base.Add(after)
		must(t, s.PutRecords(t.Context(), l, []state.Record{r}))
	}
	one, l1 := running(t, s)
	_, l2 := running(t, s)
	put(l1, "h3", x, 3*time.Second)
	put(l2, "h2", x, 2*time.Second)
	put(l1, "h1", y, time.Second)
	put(l2, "h3-too", x, 3*time.Second)
	for _, c := range []struct {
		name   string
		filter state.RecordFilter
		want   []string
	}{
		{"of one thread, oldest first", state.RecordFilter{Thread: one.ID}, []string{"h1", "h3"}},
		{"of one server, over threads; ties in the order they came", state.RecordFilter{Server: x}, []string{"h2", "h3", "h3-too"}},
		{"since", state.RecordFilter{Server: x, Since: base.Add(2500 * time.Millisecond)}, []string{"h3", "h3-too"}},
		{"since is inclusive", state.RecordFilter{Server: y, Since: base.Add(time.Second)}, []string{"h1"}},
		{"the oldest, up to the limit", state.RecordFilter{Server: x, Limit: 2}, []string{"h2", "h3"}},
		{"all at once", state.RecordFilter{Thread: one.ID, Server: x, Since: base, Limit: 5}, []string{"h3"}},
		{"of nobody", state.RecordFilter{Server: newID()}, nil},
		{"of an unknown thread", state.RecordFilter{Thread: newID()}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rs, err := s.Records(t.Context(), c.filter)
			must(t, err)
			var hops []string
			for _, r := range rs {
				hops = append(hops, r.Hop)
			}
			equal(t, "hops", hops, c.want)
		})
	}
}
