package statetest

import (
	"fmt"
	"sync"
	"testing"

	"junction/state"
)

func pendingWrites(t *testing.T, s state.Store) {
	t.Run("a finished task's writes are visible before the superstep commits", func(t *testing.T) {
		th, l := running(t, s)
		w := state.TaskWrites{
			Task:   "task-a",
			Writes: []state.Write{{Channel: "name", Value: raw(`"<new>"`), Overwrite: true}, {Channel: "log", Value: raw(`[1]`)}},
			Goto:   []state.Send{{Node: "b", Item: raw(`{"i":1}`)}}, Named: true,
			Handled: &state.Failure{Code: "MCP_TIMEOUT", Message: "too slow"},
		}
		must(t, s.PutWrites(t.Context(), l, 1, w, []state.Record{success(record("w-"+th.ID, 1), `[1]`)}))
		snap := load(t, s, th.ID, 0)
		equal(t, "pending", snap.Pending, map[string]state.TaskWrites{"task-a": w})
		equal(t, "head", snap.Seq, int64(1))
		equal(t, "values", snap.Values, rawMap("name", `"first"`))
		equal(t, "result", snap.Records[0].Result, raw(`[1]`))
	})
	t.Run("the first write of a task wins", func(t *testing.T) {
		th, l := running(t, s)
		first := state.TaskWrites{Task: "x", Writes: []state.Write{{Channel: "name", Value: raw(`1`)}}}
		must(t, s.PutWrites(t.Context(), l, 1, first, nil))
		must(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "x", Writes: []state.Write{{Channel: "name", Value: raw(`2`)}}}, nil))
		equal(t, "pending", load(t, s, th.ID, 0).Pending, map[string]state.TaskWrites{"x": first})
	})
	t.Run("writes of another superstep conflict", func(t *testing.T) {
		th, l := running(t, s)
		commit(t, s, step(l, 1))
		wantErr(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "late"}, []state.Record{record("late-"+th.ID, 1)}), state.ErrConflict)
		snap := load(t, s, th.ID, 0)
		equal(t, "left behind", len(snap.Pending)+len(snap.Records), 0)
	})
	t.Run("siblings that finish at once are all kept", func(t *testing.T) {
		th, l := running(t, s)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				w := state.TaskWrites{Task: fmt.Sprint("task-", i), Writes: []state.Write{{Channel: "log", Value: raw(fmt.Sprint(i))}}}
				if err := s.PutWrites(t.Context(), l, 1, w, []state.Record{record(fmt.Sprint(th.ID, i), 1)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		snap := load(t, s, th.ID, 0)
		equal(t, "pending and records", []int{len(snap.Pending), len(snap.Records)}, []int{20, 20})
	})
}

func interrupts(t *testing.T, s state.Store) {
	ask := func(t *testing.T, l state.Lease, id, task string) {
		t.Helper()
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: id, Task: task, Node: "gate", Value: raw(`{"question":"ok?"}`), Schema: raw(`{"type":"boolean"}`)}, nil))
	}
	t.Run("questions wait in order of task, then id", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "i2", "b")
		ask(t, l, "i9", "a")
		ask(t, l, "i1", "b")
		snap := load(t, s, th.ID, 0)
		var ids []string
		for _, i := range snap.Interrupts {
			ids = append(ids, i.ID)
			if i.Answer != nil || i.Asked.IsZero() || !i.Answered.IsZero() {
				t.Errorf("waiting interrupt is %+v", i)
			}
		}
		equal(t, "order", ids, []string{"i9", "i1", "i2"})
		equal(t, "question", []any{snap.Interrupts[0].Node, string(snap.Interrupts[0].Value), string(snap.Interrupts[0].Schema)}, []any{"gate", `{"question":"ok?"}`, `{"type":"boolean"}`})
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 3)
	})
	t.Run("an answer needs no lease and is stored once", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q", "a")
		must(t, s.Release(t.Context(), l))
		must(t, s.Answer(t.Context(), th.ID, rawMap("q", `true`)))
		wantErr(t, s.Answer(t.Context(), th.ID, rawMap("q", `false`)), state.ErrAnswered)
		i := load(t, s, th.ID, 0).Interrupts[0]
		equal(t, "answer", i.Answer, raw(`true`))
		if i.Answered.IsZero() {
			t.Error("the answer has no time")
		}
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 0)
	})
	t.Run("answers are stored all or none", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q1", "a")
		ask(t, l, "q2", "b")
		wantErr(t, s.Answer(t.Context(), th.ID, rawMap("q1", `1`, "zz", `2`)), state.ErrNotFound)
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 2)
		must(t, s.Answer(t.Context(), th.ID, rawMap("q1", `1`)))
		wantErr(t, s.Answer(t.Context(), th.ID, rawMap("q1", `1`, "q2", `2`)), state.ErrAnswered)
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 1)
		must(t, s.Answer(t.Context(), th.ID, rawMap("q2", `2`)))
	})
	t.Run("null is an answer, no JSON is none", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q", "a")
		for _, bad := range []string{``, `{`, `yes`} {
			if err := s.Answer(t.Context(), th.ID, rawMap("q", bad)); err == nil {
				t.Errorf("%q was taken for an answer", bad)
			}
		}
		must(t, s.Answer(t.Context(), th.ID, rawMap("q", `null`)))
		equal(t, "answer", load(t, s, th.ID, 0).Interrupts[0].Answer, raw(`null`))
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 0)
	})
	t.Run("the same question again is harmless and keeps its answer", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q", "a")
		must(t, s.Answer(t.Context(), th.ID, rawMap("q", `42`)))
		ask(t, l, "q", "a")
		snap := load(t, s, th.ID, 0)
		equal(t, "interrupts", len(snap.Interrupts), 1)
		equal(t, "answer", snap.Interrupts[0].Answer, raw(`42`))
	})
	t.Run("a question put anew replaces the one that waits", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q", "a")
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Task: "a", Node: "gate", Value: raw(`"more"`), Schema: raw(`{}`)}, nil))
		i := load(t, s, th.ID, 0).Interrupts[0]
		equal(t, "question", []string{string(i.Value), string(i.Schema)}, []string{`"more"`, `{}`})
		equal(t, "waiting", thread(t, s, th.ID).Waiting, 1)
		must(t, s.Answer(t.Context(), th.ID, rawMap("q", `1`)))
		ask(t, l, "q", "a")
		equal(t, "question that has its answer", string(load(t, s, th.ID, 0).Interrupts[0].Value), `"more"`)
	})
	t.Run("a question of another superstep conflicts", func(t *testing.T) {
		_, l := running(t, s)
		wantErr(t, s.PutInterrupt(t.Context(), l, 5, state.Interrupt{ID: "q", Value: raw(`1`)}, nil), state.ErrConflict)
	})
	t.Run("an unknown thread has no questions", func(t *testing.T) {
		wantErr(t, s.Answer(t.Context(), newID(), rawMap("q", `1`)), state.ErrNotFound)
	})
	t.Run("of concurrent answers one is stored", func(t *testing.T) {
		th, l := running(t, s)
		ask(t, l, "q", "a")
		stored := make(chan string, 8)
		var wg sync.WaitGroup
		for i := range cap(stored) {
			wg.Go(func() {
				if s.Answer(t.Context(), th.ID, rawMap("q", fmt.Sprint(i))) == nil {
					stored <- fmt.Sprint(i)
				}
			})
		}
		wg.Wait()
		equal(t, "winners", len(stored), 1)
		equal(t, "answer", string(load(t, s, th.ID, 0).Interrupts[0].Answer), <-stored)
	})
}
