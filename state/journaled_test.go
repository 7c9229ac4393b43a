package state_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"junction/state"
	"junction/state/memory"
)

var scope = state.Scope{Thread: "t", Lineage: "l", Seq: 1, Step: 0, Task: "task", Node: "pay"}

// journaled is a task's journal on a store of its own, and the way to the next
// run of the task: in another process, which knows what the store has.
type journaled struct {
	*state.Journal
	store *memory.Store
	lease state.Lease
}

func newJournaled(t *testing.T) *journaled {
	t.Helper()
	s := memory.New(nil)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: scope.Thread, Lineage: scope.Lineage}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), scope.Thread, "worker", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	j := &journaled{store: s, lease: l}
	j.again(nil)
	return j
}

func (j *journaled) again(prior []state.Record) {
	j.Journal = state.NewJournal(scope, state.JournalOptions{Store: j.store, Lease: func() state.Lease { return j.lease }, Prior: prior})
}

// stored is what the next process finds.
func (j *journaled) stored(t *testing.T) []state.Record {
	t.Helper()
	snap, err := j.store.Load(t.Context(), scope.Thread, 0)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Records
}

func (j *journaled) crash(t *testing.T) { t.Helper(); j.again(j.stored(t)) }

func begin(t *testing.T, j *state.Journal, name string) *state.Hop {
	t.Helper()
	h, err := j.Begin(name, "args")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func attempt(n int, effect state.Effect) state.Record {
	return state.Record{Attempt: n, Effect: effect}
}

func ended(r state.Record, s state.CallStatus, e state.Execution, final bool) state.Record {
	r.Status, r.Execution, r.Final = s, e, final
	if s == state.CallSuccess {
		r.Result = json.RawMessage(`"done"`)
	}
	return r
}
