package statetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"junction/state"
)

// long is a lease that does not run out within a test, short one that does.
const (
	long  = time.Minute
	short = 60 * time.Millisecond
)

var threadNumber atomic.Int64

// newID returns a thread id nobody else uses, in this process or another.
func newID() string { return fmt.Sprintf("t%d-%s", threadNumber.Add(1), uuid.NewString()) }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func rawMap(pairs ...string) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = raw(pairs[i+1])
	}
	return m
}

func items(values ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		out[i] = raw(v)
	}
	return out
}

// create makes a thread with a last-value channel and an append channel.
func create(t *testing.T, s state.Store) state.Thread {
	t.Helper()
	th, err := s.CreateThread(t.Context(), state.NewThread{
		ID: newID(), Workflow: "wf-" + t.Name(), Version: "1", Lineage: "main",
		Meta: map[string]string{"file": "review.yaml"},
		Set:  rawMap("name", `"first"`), Append: map[string][]json.RawMessage{"log": items(`1`)},
		Next: []state.Task{{ID: "task-a", Node: "a"}, {ID: "task-b", Node: "b", Index: 1, Fan: true, Item: raw(`{"n":1}`), From: []string{"start"}}},
	})
	must(t, err)
	return th
}

// acquire takes the thread for a test's time.
func acquire(t *testing.T, s state.Store, id string) state.Lease {
	t.Helper()
	l, err := s.Acquire(t.Context(), id, "worker", long)
	must(t, err)
	return l
}

// running is a created thread with its lease.
func running(t *testing.T, s state.Store) (state.Thread, state.Lease) {
	t.Helper()
	th := create(t, s)
	return th, acquire(t, s, th.ID)
}

// step is a commit that follows parent.
func step(l state.Lease, parent int64) state.Commit {
	return state.Commit{Lease: l, Parent: parent, WriteID: uuid.NewString(), Step: int(parent), Status: state.StatusRunning}
}

func commit(t *testing.T, s state.Store, c state.Commit) state.Checkpoint {
	t.Helper()
	cp, err := s.Commit(t.Context(), c)
	must(t, err)
	return cp
}

func load(t *testing.T, s state.Store, id string, seq int64) state.Snapshot {
	t.Helper()
	snap, err := s.Load(t.Context(), id, seq)
	must(t, err)
	return snap
}

func thread(t *testing.T, s state.Store, id string) state.Thread {
	t.Helper()
	th, err := s.Thread(t.Context(), id)
	must(t, err)
	return th
}

func record(hop string, seq int64) state.Record {
	return state.Record{
		Seq: seq, Task: "task-a", Node: "a", Hop: hop, Name: "1", Round: 1, Attempt: 1, Server: "srv", Effect: state.Unsafe,
		InputHash: "in", Status: state.CallOpen,
	}
}

func success(r state.Record, result string) state.Record {
	r.Status, r.Final, r.Result = state.CallSuccess, true, raw(result)
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

// equal compares what callers can tell apart: an empty map or slice is a nil one.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := diff(got, want); d != "" {
		t.Fatalf("%s differs (−want +got):\n%s", what, d)
	}
}

func diff(got, want any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// eventually tries again until the store's own clock has moved far enough.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within 10s", what)
		}
	}
}
