package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

// gates is a graph of three nodes: the first asks, the second pauses before it.
func gates(t *testing.T, runs *counter) *graph.Graph {
	return compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "ok"}},
		Nodes: []graph.Node{
			{Name: "ask", Run: do("ok", func(ctx context.Context, _ graph.Input) (any, error) {
				runs.add("ask")
				return graph.Ask(ctx, "ok?")
			})},
			{Name: "gate", PauseBefore: true, Run: func(context.Context, graph.Input) (graph.Update, error) {
				runs.add("gate")
				return graph.Update{}, nil
			}},
		},
		Edges: edges(line("start", "ask", "gate", "end")),
	})
}

func TestAQueuedResumeLeavesAloneWhatNobodyWantsToGoOn(t *testing.T) {
	queued := func(s state.Store) graph.RunOptions { return graph.RunOptions{Store: s, Queued: true} }
	for name, c := range map[string]struct {
		prepare func(t *testing.T, g *graph.Graph, s state.Store)
		is      error
		status  state.Status // afterwards
	}{
		"cancelled before it ran": {func(t *testing.T, _ *graph.Graph, s state.Store) {
			if err := s.RequestCancel(t.Context(), "t"); err != nil {
				t.Error(err)
			}
		}, graph.ErrStopped, state.StatusCancelled},
		"waiting for an answer": {func(t *testing.T, g *graph.Graph, s state.Store) {
			wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: s}), state.StatusInterrupted)
		}, graph.ErrStopped, state.StatusInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs counter
				g, s := gates(t, &runs), newStore(t)
				if _, err := g.Create(t.Context(), graph.RunOptions{Store: s, Thread: "t"}); err != nil {
					t.Fatal(err)
				}
				c.prepare(t, g, s)
				before := runs.of("ask")
				if _, err := g.Resume(t.Context(), "t", queued(s)); !errors.Is(err, c.is) {
					t.Fatalf("%v", err)
				}
				th, err := s.Thread(t.Context(), "t")
				if err != nil || th.Status != c.status || runs.of("ask") != before {
					t.Fatalf("thread %+v, %v; ran %d times", th, err, runs.of("ask"))
				}
			})
		})
	}
}

func TestAThreadCancelledWhileAQueuedResumeWaitsIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		g, s := gates(t, &runs), newStore(t)
		if _, err := g.Create(t.Context(), graph.RunOptions{Store: s, Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		l, err := s.Acquire(t.Context(), "t", "other", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			if err := errors.Join(s.Release(context.Background(), l), s.RequestCancel(context.Background(), "t")); err != nil {
				t.Error(err)
			}
		})
		_, err = g.Resume(t.Context(), "t", graph.RunOptions{Store: s, Queued: true, Busy: graph.BusyQueue})
		if !errors.Is(err, graph.ErrStopped) || runs.of("ask") != 0 {
			t.Fatalf("%v after %d runs", err, runs.of("ask"))
		}
	})
}

func TestAQueuedResumeGoesOnWithWhatWasAnswered(t *testing.T) {
	var runs counter
	g, s := gates(t, &runs), newStore(t)
	wantStatus(t, run(t, g, graph.RunOptions{Store: s, Thread: "t"}), state.StatusInterrupted)
	queued := graph.RunOptions{Store: s, Queued: true}
	if err := graph.Answer(t.Context(), s, "t", map[string]json.RawMessage{"": json.RawMessage(`true`)}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, resume(t, g, "t", queued), state.StatusInterrupted) // before the gate
	if _, err := g.Resume(t.Context(), "t", queued); !errors.Is(err, graph.ErrStopped) || runs.of("gate") != 0 {
		t.Fatalf("%v; the gate was passed %d times though nobody opened it", err, runs.of("gate"))
	}
	th, err := s.Reopen(t.Context(), "t")
	if err != nil || th.Status != state.StatusPending {
		t.Fatal(th, err)
	}
	wantStatus(t, resume(t, g, "t", queued), state.StatusCompleted)
}

func TestATakenOverThreadDoesNotPassAPauseItsHolderDiedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		g, s := gates(t, &runs), newStore(t)
		wantStatus(t, run(t, g, graph.RunOptions{Store: s, Thread: "t"}), state.StatusInterrupted)
		d := &refusingStatus{s}
		_, err := g.Resume(t.Context(), "t", graph.RunOptions{Store: d, Answers: map[string]json.RawMessage{"": json.RawMessage(`true`)}})
		if !errors.Is(err, errUnplugged) {
			t.Fatalf("%v", err)
		}
		if th, err := s.Thread(t.Context(), "t"); err != nil || th.Status != state.StatusRunning || th.Waiting != 1 {
			t.Fatalf("thread %+v, %v", th, err)
		}
		wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: s, Queued: true}), state.StatusInterrupted)
		if runs.of("gate") != 0 {
			t.Error("the gate was passed")
		}
	})
}

// refusingStatus is a store that never learns that a thread waits.
type refusingStatus struct{ state.Store }

func (s *refusingStatus) SetStatus(ctx context.Context, l state.Lease, st state.Status, f *state.Failure, r []state.Record) error {
	if st == state.StatusInterrupted {
		return errUnplugged
	}
	return s.Store.SetStatus(ctx, l, st, f, r)
}

func TestAnswersThatDoNotFitAreRefusedBeforeTheThreadIsQueued(t *testing.T) {
	var runs counter
	g, s := gates(t, &runs), newStore(t)
	if _, err := g.Create(t.Context(), graph.RunOptions{Store: s, Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	var misfit *graph.AnswerError
	if err := graph.Answer(t.Context(), s, "t", map[string]json.RawMessage{"": json.RawMessage(`true`)}); !errors.As(err, &misfit) {
		t.Errorf("an answer nobody asked for: %v", err)
	}
	if err := graph.Answer(t.Context(), s, "nobody", nil); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("an unknown thread: %v", err)
	}
	o := graph.RunOptions{Store: s, Queued: true, Answers: map[string]json.RawMessage{"": json.RawMessage(`true`)}}
	if _, err := g.Resume(t.Context(), "t", o); err == nil || runs.of("ask") != 0 {
		t.Errorf("a queued resume took answers: %v", err)
	}
}
