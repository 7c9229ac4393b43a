package statetest

import (
	"fmt"
	"testing"

	"junction/state"
)

func checkpoints(t *testing.T, s state.Store) {
	t.Run("history is newest first, in pages", func(t *testing.T) {
		th, l := running(t, s)
		for parent := int64(1); parent < 5; parent++ {
			c := step(l, parent)
			c.Next = []state.Task{{ID: fmt.Sprint("task-", parent), Node: "n"}}
			commit(t, s, c)
		}
		seqs := func(before int64, limit int) (out []int64) {
			cps, err := s.Checkpoints(t.Context(), th.ID, before, limit)
			must(t, err)
			for _, cp := range cps {
				out = append(out, cp.Seq)
			}
			return out
		}
		equal(t, "all", seqs(0, 0), []int64{5, 4, 3, 2, 1})
		equal(t, "newest two", seqs(0, 2), []int64{5, 4})
		equal(t, "two before 4", seqs(4, 2), []int64{3, 2})
		equal(t, "before the first", seqs(1, 0), []int64(nil))
		cps, err := s.Checkpoints(t.Context(), th.ID, 0, 1)
		must(t, err)
		equal(t, "newest", cps[0], load(t, s, th.ID, 0).Checkpoint)
	})
	t.Run("an old checkpoint keeps its values and has nothing pending", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Set, c.Append = rawMap("name", `"second"`), rawItems("log", `2`, `3`)
		commit(t, s, c)
		must(t, s.PutWrites(t.Context(), l, 2, state.TaskWrites{Task: "x"}, []state.Record{record("old-"+th.ID, 2)}))
		first := load(t, s, th.ID, 1)
		equal(t, "first value", first.Values, rawMap("name", `"first"`))
		equal(t, "first log", first.Logs["log"], items(`1`))
		equal(t, "pending of the first", len(first.Pending)+len(first.Records), 0)
		head := load(t, s, th.ID, 2)
		equal(t, "head by number", head, load(t, s, th.ID, 0))
		equal(t, "head value", head.Values, rawMap("name", `"second"`))
		equal(t, "head log", head.Logs["log"], items(`1`, `2`, `3`))
		equal(t, "pending of the head", []int{len(head.Pending), len(head.Records)}, []int{1, 1})
	})
	t.Run("a checkpoint that does not exist is not found", func(t *testing.T) {
		th := create(t, s)
		for _, seq := range []int64{-1, 2} {
			_, err := s.Load(t.Context(), th.ID, seq)
			wantErr(t, err, state.ErrNotFound)
		}
	})
	t.Run("plans, joins and places come back as they went in", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Step = 7
		c.Next = []state.Task{{ID: "j", Node: "join", From: []string{"a", "b"}}, {ID: "f", Node: "fan", Index: 3, Fan: true, Item: raw(`{"<k>&":[1,null,"\u2028 é"]}`)}}
		c.Arrived = map[string][]string{"join": {"a"}}
		cp := commit(t, s, c)
		snap := load(t, s, th.ID, 0)
		equal(t, "checkpoint", snap.Checkpoint, cp)
		equal(t, "next", snap.Next, c.Next)
		equal(t, "arrived", snap.Arrived, c.Arrived)
		equal(t, "step", []int{snap.Step, thread(t, s, th.ID).Step}, []int{7, 7})
		equal(t, "ancestry", []any{snap.Parent, snap.Source, snap.Lineage, snap.Thread}, []any{int64(1), "step", "main", th.ID})
		if cp.Created.IsZero() || cp.Created.Before(th.Created) {
			t.Errorf("created at %v, thread at %v", cp.Created, th.Created)
		}
	})
}

func commits(t *testing.T, s state.Store) {
	t.Run("two commits on one parent conflict", func(t *testing.T) {
		th, l := running(t, s)
		commit(t, s, step(l, 1))
		_, err := s.Commit(t.Context(), step(l, 1))
		wantErr(t, err, state.ErrConflict)
		_, err = s.Commit(t.Context(), step(l, 9))
		wantErr(t, err, state.ErrConflict)
		equal(t, "head", thread(t, s, th.ID).Head, int64(2))
	})
	t.Run("the same write id again is the same checkpoint, even when the lease is gone", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Append = rawItems("log", `2`)
		first := commit(t, s, c)
		equal(t, "repeat", commit(t, s, c), first)
		must(t, s.Release(t.Context(), l))
		equal(t, "repeat without the lease", commit(t, s, c), first)
		equal(t, "log", load(t, s, th.ID, 0).Logs["log"], items(`1`, `2`))
	})
	t.Run("a commit completes a thread and clears its failure", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.SetStatus(t.Context(), l, state.StatusFailed, &state.Failure{Code: "x"}, nil))
		c := step(l, 1)
		c.Status = state.StatusCompleted
		commit(t, s, c)
		got := thread(t, s, th.ID)
		equal(t, "status", []any{got.Status, got.Failure == nil, got.Head}, []any{state.StatusCompleted, true, int64(2)})
	})
	t.Run("a commit with another status is refused", func(t *testing.T) {
		_, l := running(t, s)
		c := step(l, 1)
		c.Status = state.StatusFailed
		if _, err := s.Commit(t.Context(), c); err == nil {
			t.Fatal("committed as failed")
		}
	})
	t.Run("a commit ends what was pending and drops the results of its records", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "a"}, []state.Record{success(record("h1-"+th.ID, 1), `"kept"`)}))
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Task: "b", Value: raw(`"?"`)}, nil))
		equal(t, "result", load(t, s, th.ID, 0).Records[0].Result, raw(`"kept"`))
		c := step(l, 1)
		c.Records = []state.Record{success(record("h2-"+th.ID, 1), `"rides"`)}
		commit(t, s, c)
		snap := load(t, s, th.ID, 0)
		if len(snap.Pending)+len(snap.Interrupts)+len(snap.Records) > 0 {
			t.Errorf("still pending: %+v", snap)
		}
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 0)
		wantErr(t, s.Answer(t.Context(), th.ID, rawMap("q", `1`)), state.ErrNotFound)
		recs, err := s.Records(t.Context(), state.RecordFilter{Thread: th.ID})
		must(t, err)
		equal(t, "call records", len(recs), 2)
		for _, r := range recs {
			if r.Result != nil || r.Status != state.CallSuccess {
				t.Errorf("record %s has status %s and result %s", r.Hop, r.Status, r.Result)
			}
		}
	})
	t.Run("a refused commit changes nothing", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "a"}, nil))
		before := load(t, s, th.ID, 0)
		c := step(l, 2)
		c.Set, c.Records = rawMap("name", `"lost"`), []state.Record{record("lost-"+th.ID, 1)}
		_, err := s.Commit(t.Context(), c)
		wantErr(t, err, state.ErrConflict)
		equal(t, "snapshot", load(t, s, th.ID, 0), before)
	})
}
