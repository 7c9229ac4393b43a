package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"junction/state"
)

// full is a thread with something of every kind, and the hash of its blob.
func full(t *testing.T, s state.Store) (state.Thread, state.Lease, string) {
	t.Helper()
	th, l := running(t, s)
	must(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "a"}, []state.Record{success(record("h-"+th.ID, 1), `1`)}))
	must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Value: raw(`1`)}, nil))
	must(t, s.PutSession(t.Context(), l, state.Session{ID: "s"}))
	hash, err := s.PutBlob(t.Context(), l, []byte("blob of "+th.ID))
	must(t, err)
	return th, l, hash
}

func deletes(t *testing.T, s state.Store) {
	t.Run("a thread that is being run stays", func(t *testing.T) {
		th, _, _ := full(t, s)
		wantErr(t, s.DeleteThread(t.Context(), th.ID), state.ErrBusy)
		equal(t, "pending", len(load(t, s, th.ID, 0).Pending), 1)
	})
	t.Run("a deleted thread leaves nothing, not even to its successor", func(t *testing.T) {
		th, l, hash := full(t, s)
		other, _, otherHash := full(t, s)
		must(t, s.Release(t.Context(), l))
		must(t, s.DeleteThread(t.Context(), th.ID))
		_, err := s.Thread(t.Context(), th.ID)
		wantErr(t, err, state.ErrNotFound)
		wantErr(t, s.DeleteThread(t.Context(), th.ID), state.ErrNotFound)
		_, err = s.Blob(t.Context(), th.ID, hash)
		wantErr(t, err, state.ErrNotFound)
		rs, err := s.Records(t.Context(), state.RecordFilter{Thread: th.ID})
		must(t, err)
		equal(t, "records", len(rs), 0)
		equal(t, "listed", len(listed(t, s, state.ThreadFilter{Workflow: th.Workflow})), 1)

		_, err = s.CreateThread(t.Context(), state.NewThread{ID: th.ID, Workflow: "again"})
		must(t, err)
		snap := load(t, s, th.ID, 0)
		ss, err := s.Sessions(t.Context(), th.ID)
		must(t, err)
		equal(t, "inherited", len(snap.Pending)+len(snap.Interrupts)+len(snap.Records)+len(snap.Channels)+len(ss), 0)
		_, err = s.Blob(t.Context(), other.ID, otherHash)
		must(t, err)
	})
}

func retention(t *testing.T, s state.Store) {
	stopped := func(t *testing.T, status state.Status) string {
		t.Helper()
		th, l := running(t, s)
		if status == state.StatusCompleted {
			c := step(l, 1)
			c.Status = status
			commit(t, s, c)
		} else {
			must(t, s.SetStatus(t.Context(), l, status, nil, nil))
		}
		must(t, s.Release(t.Context(), l))
		return th.ID
	}
	exists := func(id string) bool {
		_, err := s.Thread(t.Context(), id)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	prune := func(r state.Retention) {
		t.Helper()
		_, err := s.Prune(t.Context(), r)
		must(t, err)
	}
	running1 := stopped(t, state.StatusRunning) // its worker died
	done, failed := stopped(t, state.StatusCompleted), stopped(t, state.StatusFailed)
	waiting, cancelled := stopped(t, state.StatusInterrupted), stopped(t, state.StatusCancelled)
	held := stopped(t, state.StatusFailed)
	acquire(t, s, held)

	prune(state.Retention{})
	prune(state.Retention{Completed: time.Hour, Stopped: time.Hour})
	for _, id := range []string{running1, done, failed, waiting, cancelled, held} {
		if !exists(id) {
			t.Fatal("a thread was pruned before its time")
		}
	}
	eventually(t, "the completed thread goes", func() bool {
		prune(state.Retention{Completed: time.Millisecond})
		return !exists(done)
	})
	equal(t, "the stopped stay", exists(failed) && exists(waiting) && exists(cancelled), true)
	eventually(t, "the stopped threads go", func() bool {
		prune(state.Retention{Stopped: time.Millisecond})
		return !exists(failed) && !exists(waiting) && !exists(cancelled)
	})
	equal(t, "held and unfinished stay", exists(held) && exists(running1), true)
}

func cancelledContexts(t *testing.T, s state.Store) {
	th, l, hash := full(t, s)
	before := load(t, s, th.ID, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, op := range map[string]func() error{
		"create":      func() error { _, err := s.CreateThread(ctx, state.NewThread{ID: newID()}); return err },
		"thread":      func() error { _, err := s.Thread(ctx, th.ID); return err },
		"threads":     func() error { _, err := s.Threads(ctx, state.ThreadFilter{}); return err },
		"cancel":      func() error { return s.RequestCancel(ctx, th.ID) },
		"reopen":      func() error { _, err := s.Reopen(ctx, th.ID); return err },
		"asked":       func() error { _, err := s.CancelRequested(ctx, th.ID); return err },
		"acquire":     func() error { _, err := s.Acquire(ctx, th.ID, "w", long); return err },
		"renew":       func() error { _, err := s.Renew(ctx, l); return err },
		"release":     func() error { return s.Release(ctx, l) },
		"load":        func() error { _, err := s.Load(ctx, th.ID, 0); return err },
		"checkpoints": func() error { _, err := s.Checkpoints(ctx, th.ID, 0, 0); return err },
		"writes":      func() error { return s.PutWrites(ctx, l, 1, state.TaskWrites{Task: "no"}, nil) },
		"interrupt":   func() error { return s.PutInterrupt(ctx, l, 1, state.Interrupt{ID: "no"}, nil) },
		"answer":      func() error { return s.Answer(ctx, th.ID, rawMap("q", `1`)) },
		"commit":      func() error { _, err := s.Commit(ctx, step(l, 1)); return err },
		"records":     func() error { _, err := s.Records(ctx, state.RecordFilter{}); return err },
		"put records": func() error { return s.PutRecords(ctx, l, []state.Record{record("no", 1)}) },
		"put blob":    func() error { _, err := s.PutBlob(ctx, l, []byte("no")); return err },
		"blob":        func() error { _, err := s.Blob(ctx, th.ID, hash); return err },
		"session":     func() error { return s.PutSession(ctx, l, state.Session{ID: "no"}) },
		"sessions":    func() error { _, err := s.Sessions(ctx, th.ID); return err },
		"status":      func() error { return s.SetStatus(ctx, l, state.StatusFailed, nil, nil) },
		"delete":      func() error { return s.DeleteThread(ctx, th.ID) },
		"prune":       func() error { _, err := s.Prune(ctx, state.Retention{Completed: 1}); return err },
	} {
		if err := op(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want context canceled", name, err)
		}
	}
	equal(t, "snapshot", load(t, s, th.ID, 0), before)
}

func aliasing(t *testing.T, s state.Store) {
	scribble := func(bs ...[]byte) {
		for _, b := range bs {
			for i := range b {
				b[i] = 'X'
			}
		}
	}
	value, item, taskItem, writeValue, result, question, blob := raw(`"value"`), raw(`"item"`), raw(`"task"`), raw(`"write"`), raw(`"result"`), raw(`"question"`), []byte("blob")
	meta, from := map[string]string{"k": "v"}, []string{"a"}
	th, err := s.CreateThread(t.Context(), state.NewThread{
		ID: newID(), Meta: meta, Blobs: [][]byte{blob},
		Set: map[string]json.RawMessage{"v": value}, Append: map[string][]json.RawMessage{"log": {item}},
		Next: []state.Task{{ID: "t", Item: taskItem, From: from}},
	})
	must(t, err)
	l := acquire(t, s, th.ID)
	alias := success(record("h-"+th.ID, 1), "")
	alias.Result = result
	must(t, s.PutWrites(t.Context(), l, 1, state.TaskWrites{Task: "t", Writes: []state.Write{{Value: writeValue}}}, []state.Record{alias}))
	must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Value: question}, nil))
	failure := &state.Failure{Code: "x"}
	must(t, s.SetStatus(t.Context(), l, state.StatusFailed, failure, nil))

	t.Run("changing what went in changes nothing stored", func(t *testing.T) {
		want := load(t, s, th.ID, 0)
		scribble(value, item, taskItem, writeValue, result, question, blob)
		meta["k"], from[0], failure.Code = "changed", "changed", "changed"
		equal(t, "snapshot", load(t, s, th.ID, 0), want)
		equal(t, "value", want.Values["v"], raw(`"value"`))
		got := thread(t, s, th.ID)
		equal(t, "meta and failure", []string{got.Meta["k"], got.Failure.Code}, []string{"v", "x"})
		_, err := s.Blob(t.Context(), th.ID, state.Hash([]byte("blob")))
		must(t, err)
	})
	t.Run("changing what came out changes nothing stored", func(t *testing.T) {
		want, got := load(t, s, th.ID, 0), load(t, s, th.ID, 0)
		scribble(got.Values["v"], got.Logs["log"][0], got.Next[0].Item, got.Pending["t"].Writes[0].Value, got.Records[0].Result, got.Interrupts[0].Value)
		got.Channels["v"], got.Next[0].From[0] = state.ChannelRef{}, "changed"
		delete(got.Pending, "t")
		out := thread(t, s, th.ID)
		out.Meta["k"], out.Failure.Code = "changed", "changed"
		equal(t, "snapshot", load(t, s, th.ID, 0), want)
		equal(t, "meta", thread(t, s, th.ID).Meta["k"], "v")
		hash := state.Hash([]byte("blob"))
		data, err := s.Blob(t.Context(), th.ID, hash)
		must(t, err)
		scribble(data)
		data, err = s.Blob(t.Context(), th.ID, hash)
		must(t, err)
		equal(t, "blob", string(data), "blob")
	})
	t.Run("appending to a log that came out does not reach the store", func(t *testing.T) {
		before := load(t, s, th.ID, 0)
		_ = append(before.Logs["log"], raw(`"intruder"`))
		c := step(l, 1)
		c.Append = rawItems("log", `"second"`)
		commit(t, s, c)
		equal(t, "log", load(t, s, th.ID, 0).Logs["log"], items(`"item"`, `"second"`))
		equal(t, "log as it was", before.Logs["log"], items(`"item"`))
	})
}

// crashes checks what the next worker finds when one dies between two
// operations: the calls a process did not live to make are simply not made.
func crashes(t *testing.T, s state.Store) {
	die := func(t *testing.T, th state.Thread, l state.Lease) state.Lease {
		t.Helper()
		must(t, s.Release(t.Context(), l)) // as if its lease had run out
		return acquire(t, s, th.ID)
	}
	t.Run("between intent and outcome: the next worker sees an open record", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.PutRecords(t.Context(), l, []state.Record{record("h-"+th.ID, 1)}))
		die(t, th, l)
		rs := load(t, s, th.ID, 0).Records
		equal(t, "records", []any{len(rs), rs[0].Status}, []any{1, state.CallOpen})
	})
	t.Run("between outcome and writes: the next worker sees the result", func(t *testing.T) {
		th, l := running(t, s)
		r := record("h-"+th.ID, 1)
		must(t, s.PutRecords(t.Context(), l, []state.Record{r}))
		must(t, s.PutRecords(t.Context(), l, []state.Record{success(r, `{"paid":1}`)}))
		die(t, th, l)
		equal(t, "result", load(t, s, th.ID, 0).Records[0].Result, raw(`{"paid":1}`))
	})
	t.Run("between writes and checkpoint: the finished task is not lost, and the step commits once", func(t *testing.T) {
		th, l := running(t, s)
		w := state.TaskWrites{Task: "task-a", Writes: []state.Write{{Channel: "log", Value: raw(`[2]`)}}}
		must(t, s.PutWrites(t.Context(), l, 1, w, nil))
		next := die(t, th, l)
		snap := load(t, s, th.ID, 0)
		equal(t, "pending", snap.Pending, map[string]state.TaskWrites{"task-a": w})
		equal(t, "plan", len(snap.Next), 2)
		c := step(next, snap.Seq)
		c.Append = rawItems("log", `2`)
		commit(t, s, c)
		_, err := s.Commit(t.Context(), step(l, 1)) // the first worker was only slow
		wantErr(t, err, state.ErrLeaseLost)
		equal(t, "log", load(t, s, th.ID, 0).Logs["log"], items(`1`, `2`))
	})
	t.Run("between commit and its reply: the repeat changes nothing", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Append = rawItems("log", `2`)
		first := commit(t, s, c)
		next := die(t, th, l)
		equal(t, "repeat", commit(t, s, c), first)
		c.Lease = next
		equal(t, "repeat under the new lease", commit(t, s, c), first)
	})
	t.Run("between question and status: the question waits", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Value: raw(`1`)}, []state.Record{success(record("h-"+th.ID, 1), `1`)}))
		die(t, th, l)
		snap := load(t, s, th.ID, 0)
		equal(t, "interrupts and records", []int{len(snap.Interrupts), len(snap.Records)}, []int{1, 1})
	})
}
