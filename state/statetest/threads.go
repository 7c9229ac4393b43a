package statetest

import (
	"testing"
	"time"

	"junction/state"
)

func threads(t *testing.T, s state.Store) {
	t.Run("a new thread is pending and has its first checkpoint", func(t *testing.T) {
		before := time.Now().Add(-time.Minute)
		th := create(t, s)
		if th.Created.Before(before) || !th.Updated.Equal(th.Created) {
			t.Errorf("created %v, updated %v: not stamped by the store", th.Created, th.Updated)
		}
		equal(t, "thread", th, state.Thread{
			ID: th.ID, Workflow: "wf-" + t.Name(), Version: "1", Meta: map[string]string{"file": "review.yaml"},
			Status: state.StatusPending, Head: 1, Created: th.Created, Updated: th.Updated,
		})
		equal(t, "thread read back", thread(t, s, th.ID), th)
		snap := load(t, s, th.ID, 0)
		equal(t, "source", snap.Source, "input")
		equal(t, "lineage", snap.Lineage, "main")
		equal(t, "place", []int64{snap.Seq, snap.Parent, int64(snap.Step)}, []int64{1, 0, 0})
		equal(t, "values", snap.Values, rawMap("name", `"first"`))
		equal(t, "log", snap.Logs["log"], items(`1`))
		equal(t, "plan", snap.Next[1], state.Task{ID: "task-b", Node: "b", Index: 1, Fan: true, Item: raw(`{"n":1}`), From: []string{"start"}})
	})
	t.Run("an id is taken once", func(t *testing.T) {
		th := create(t, s)
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: th.ID, Workflow: "other"})
		wantErr(t, err, state.ErrExists)
		equal(t, "thread", thread(t, s, th.ID), th)
	})
	t.Run("a thread needs an id", func(t *testing.T) {
		if _, err := s.CreateThread(t.Context(), state.NewThread{Workflow: "w"}); err == nil {
			t.Fatal("created a thread without an id")
		}
	})
	t.Run("an unknown thread is not found", func(t *testing.T) {
		id := newID()
		_, err := s.Thread(t.Context(), id)
		wantErr(t, err, state.ErrNotFound)
		_, err = s.Load(t.Context(), id, 0)
		wantErr(t, err, state.ErrNotFound)
		_, err = s.Checkpoints(t.Context(), id, 0, 0)
		wantErr(t, err, state.ErrNotFound)
		_, err = s.Acquire(t.Context(), id, "w", long)
		wantErr(t, err, state.ErrNotFound)
		_, err = s.CancelRequested(t.Context(), id)
		wantErr(t, err, state.ErrNotFound)
		_, err = s.Sessions(t.Context(), id)
		wantErr(t, err, state.ErrNotFound)
		wantErr(t, s.RequestCancel(t.Context(), id), state.ErrNotFound)
		wantErr(t, s.DeleteThread(t.Context(), id), state.ErrNotFound)
	})
	t.Run("a list is newest first and obeys its filter", func(t *testing.T) {
		workflow := "list-" + newID()
		var ids []string
		for range 3 {
			th, err := s.CreateThread(t.Context(), state.NewThread{ID: newID(), Workflow: workflow})
			must(t, err)
			ids = append(ids, th.ID)
		}
		l := acquire(t, s, ids[1])
		must(t, s.SetStatus(t.Context(), l, state.StatusFailed, nil, nil))
		equal(t, "all", listed(t, s, state.ThreadFilter{Workflow: workflow}), []string{ids[2], ids[1], ids[0]})
		equal(t, "two", listed(t, s, state.ThreadFilter{Workflow: workflow, Limit: 2}), []string{ids[2], ids[1]})
		equal(t, "failed", listed(t, s, state.ThreadFilter{Workflow: workflow, Status: state.StatusFailed}), []string{ids[1]})
	})
}

func listed(t *testing.T, s state.Store, f state.ThreadFilter) []string {
	t.Helper()
	ths, err := s.Threads(t.Context(), f)
	must(t, err)
	var ids []string
	for _, th := range ths {
		ids = append(ids, th.ID)
	}
	return ids
}

func status(t *testing.T, s state.Store) {
	t.Run("a stop is remembered with its failure and its records", func(t *testing.T) {
		th, l := running(t, s)
		failure := &state.Failure{Code: "MCP_TIMEOUT", Message: "idle", Node: "a", Server: "srv", Hop: "h"}
		must(t, s.SetStatus(t.Context(), l, state.StatusFailed, failure, []state.Record{record("stop-"+th.ID, 1)}))
		got := thread(t, s, th.ID)
		equal(t, "status", got.Status, state.StatusFailed)
		equal(t, "failure", got.Failure, failure)
		equal(t, "records", len(load(t, s, th.ID, 0).Records), 1)
		if got.Updated.Before(th.Updated) {
			t.Errorf("updated went back from %v to %v", th.Updated, got.Updated)
		}
	})
	t.Run("a completed thread stays completed", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Status = state.StatusCompleted
		commit(t, s, c)
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, []state.Record{record("late-"+th.ID, 1)}))
		equal(t, "status", thread(t, s, th.ID).Status, state.StatusCompleted)
		got, err := s.Records(t.Context(), state.RecordFilter{Thread: th.ID})
		must(t, err)
		equal(t, "records", len(got), 1)
	})
	t.Run("running again clears the failure, and the next lease the request to stop", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.RequestCancel(t.Context(), th.ID))
		must(t, s.SetStatus(t.Context(), l, state.StatusCancelled, &state.Failure{Code: "cancelled"}, nil))
		must(t, s.Release(t.Context(), l))
		l, err := s.Acquire(t.Context(), th.ID, "w", time.Minute)
		must(t, err)
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil))
		got := thread(t, s, th.ID)
		if got.Status != state.StatusRunning || got.Failure != nil || got.Cancel {
			t.Errorf("thread is %+v", got)
		}
	})
}

func cancel(t *testing.T, s state.Store) {
	t.Run("a request between the lease and the first status is not lost", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.RequestCancel(t.Context(), th.ID))
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil))
		asked, err := s.CancelRequested(t.Context(), th.ID)
		must(t, err)
		equal(t, "asked", asked, true)
	})
	t.Run("a worker that runs the thread is told and the status stays", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil))
		asked, err := s.CancelRequested(t.Context(), th.ID)
		must(t, err)
		equal(t, "asked", asked, false)
		must(t, s.RequestCancel(t.Context(), th.ID))
		asked, err = s.CancelRequested(t.Context(), th.ID)
		must(t, err)
		equal(t, "asked", asked, true)
		equal(t, "status", thread(t, s, th.ID).Status, state.StatusRunning)
	})
	t.Run("a thread that nobody runs is cancelled", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.SetStatus(t.Context(), l, state.StatusInterrupted, nil, nil))
		must(t, s.Release(t.Context(), l))
		must(t, s.RequestCancel(t.Context(), th.ID))
		equal(t, "status", thread(t, s, th.ID).Status, state.StatusCancelled)
	})
	t.Run("a completed thread stays completed", func(t *testing.T) {
		th, l := running(t, s)
		c := step(l, 1)
		c.Status = state.StatusCompleted
		commit(t, s, c)
		must(t, s.Release(t.Context(), l))
		must(t, s.RequestCancel(t.Context(), th.ID))
		equal(t, "status", thread(t, s, th.ID).Status, state.StatusCompleted)
	})
}
