package graph_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

func TestAReopenedThreadIsPendingWithItsAnswers(t *testing.T) {
	var runs counter
	g := compile(t, pair(graph.Node{Run: asker(&runs, "a")}, graph.Node{Run: asker(&runs, "b")}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	a, b := ids(res, "a")[0], ids(res, "b")[0]
	before := runs.of("a") + runs.of("b")

	_, err := g.Reopen(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"no such": raw(`1`)}})
	if err == nil {
		t.Fatal("an answer to a question nobody asked was taken")
	}
	th, err := g.Reopen(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{a: raw(`"yes"`), b: raw(`"no"`)}})
	if err != nil || th.Status != state.StatusPending || th.Waiting != 0 {
		t.Fatalf("%+v, %v", th, err)
	}
	if now := runs.of("a") + runs.of("b"); now != before {
		t.Fatal("reopening ran something")
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Queued: true})
	wantStatus(t, res, state.StatusCompleted)
	if _, err := g.Reopen(t.Context(), res.Thread, graph.RunOptions{Store: store}); !errors.Is(err, graph.ErrFinished) {
		t.Errorf("a completed thread: %v", err)
	}
}

func TestAReopenObeysItsBusyPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := holdThread(t, 20*time.Second)
		if _, err := s.g.Reopen(t.Context(), "t", graph.RunOptions{Store: s.store}); !errors.Is(err, state.ErrBusy) {
			t.Errorf("reject: %v", err)
		}
		th, err := s.g.Reopen(t.Context(), "t", graph.RunOptions{Store: s.store, Busy: graph.BusyInterrupt})
		if err != nil || th.Status != state.StatusPending || th.Cancel {
			t.Errorf("interrupt: %+v, %v", th, err)
		}
		wantStatus(t, <-s.first, state.StatusCancelled)
	})
}
