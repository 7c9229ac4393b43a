package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

// atOnce is a graph that begins with a fan-out, so that its list is evaluated
// when the thread is made.
func atOnce(items func(graph.View) ([]any, error), each graph.Func) graph.Spec {
	return graph.Spec{
		Version:  "3",
		Channels: []graph.Channel{{Name: "log", Append: true}, {Name: "repo"}},
		Nodes:    []graph.Node{{Name: "each", Each: items, Run: each}},
		Edges:    edges(line("start", "each", "end")),
	}
}

func TestACreatedThreadIsPlannedAndRunsWhenItIsResumed(t *testing.T) {
	for name, store := range map[string]state.Store{
		"memory": newStore(t),
		"sqlite": newSQLite(t, filepath.Join(t.TempDir(), "state.db")),
	} {
		t.Run(name, func(t *testing.T) {
			defer closeStore(t, store)
			var runs counter
			g := compile(t, atOnce(func(v graph.View) ([]any, error) {
				runs.add("plan")
				repo, _ := v.Get("repo")
				return []any{repo, "b"}, nil
			}, func(_ context.Context, in graph.Input) (graph.Update, error) {
				runs.add(in.Task.ID)
				return graph.Update{Writes: []graph.Write{{Channel: "log", Value: []any{in.Item}}}}, nil
			}))
			id, err := g.Create(t.Context(), graph.RunOptions{
				Store: store, Input: map[string]any{"repo": "a"}, Definition: []byte("text"), Meta: map[string]string{"dir": "/r"},
				OnEvent: func(e graph.Event) { t.Errorf("event %s of a thread that only was made", e.Kind) },
			})
			if err != nil {
				t.Fatal(err)
			}
			th, err := store.Thread(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if th.Status != state.StatusPending || th.Head != 1 || th.Version != "3" || th.Meta["dir"] != "/r" || th.Definition != state.Hash([]byte("text")) {
				t.Fatalf("thread %+v", th)
			}
			snap, err := store.Load(t.Context(), id, 0)
			if err != nil || len(snap.Next) != 2 || snap.Lineage == "" || snap.Lineage == id {
				t.Fatalf("checkpoint %+v, %v", snap.Checkpoint, err)
			}

			var kinds []graph.EventKind
			res := resume(t, g, id, graph.RunOptions{Store: store, OnEvent: func(e graph.Event) { kinds = append(kinds, e.Kind) }})
			wantStatus(t, res, state.StatusCompleted)
			if d := cmp.Diff(map[string]any{"repo": "a", "log": []any{"a", "b"}}, res.State); d != "" {
				t.Fatal(d)
			}
			if runs.of("plan") != 1 {
				t.Errorf("its fan-out was evaluated %d times", runs.of("plan"))
			}
			for _, task := range snap.Next {
				if runs.of(task.ID) != 1 {
					t.Errorf("task %s (item %s) ran %d times", task.ID, task.Item, runs.of(task.ID))
				}
			}
			if kinds[0] != graph.EventStep || kinds[len(kinds)-1] != graph.EventEnd {
				t.Errorf("events %v", kinds)
			}
			if _, err := g.Resume(t.Context(), id, graph.RunOptions{Store: store}); !errors.Is(err, graph.ErrFinished) {
				t.Errorf("resumed once more: %v", err)
			}
		})
	}
}

func TestACreatedThreadWithNothingToDoIsCompletedByItsResume(t *testing.T) {
	g := compile(t, atOnce(func(graph.View) ([]any, error) { return nil, nil }, nothing))
	store := newStore(t)
	id, err := g.Create(t.Context(), graph.RunOptions{Store: store, Thread: "t"})
	if err != nil || id != "t" {
		t.Fatal(id, err)
	}
	wantStatus(t, resume(t, g, id, graph.RunOptions{Store: store}), state.StatusCompleted)
}

func TestCreateSaysWhyItCannotAndLeavesNoThread(t *testing.T) {
	var update *graph.UpdateError
	plans := func(f func() ([]any, error)) graph.Spec {
		return atOnce(func(graph.View) ([]any, error) { return f() }, nothing)
	}
	listed := plans(func() ([]any, error) { return []any{1}, nil })
	for name, c := range map[string]struct {
		spec graph.Spec
		o    graph.RunOptions
		is   func(error) bool
	}{
		"a channel that does not exist": {listed, graph.RunOptions{Input: map[string]any{"no": 1}}, func(err error) bool { return errors.As(err, &update) }},
		"a list that fails":             {plans(func() ([]any, error) { return nil, errBoom }), graph.RunOptions{}, func(err error) bool { return errors.Is(err, errBoom) }},
		"a list that panics":            {plans(func() ([]any, error) { panic(errBoom) }), graph.RunOptions{}, func(err error) bool { return errors.Is(err, errBoom) }},
		"an answer":                     {listed, graph.RunOptions{Answers: map[string]json.RawMessage{"": json.RawMessage("1")}}, func(err error) bool { return err != nil }},
		"no such busy policy":           {listed, graph.RunOptions{Busy: "que"}, func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			c.o.Store, c.o.Thread = store, "t"
			if _, err := compile(t, c.spec).Create(t.Context(), c.o); !c.is(err) {
				t.Fatalf("%v", err)
			}
			if _, err := store.Thread(t.Context(), "t"); !errors.Is(err, state.ErrNotFound) {
				t.Fatalf("a thread is there: %v", err)
			}
		})
	}
	g := compile(t, listed)
	if _, err := g.Create(t.Context(), graph.RunOptions{}); err == nil {
		t.Error("created without a store")
	}
	store := newStore(t)
	for _, want := range []error{nil, state.ErrExists} {
		if _, err := g.Create(t.Context(), graph.RunOptions{Store: store, Thread: "t"}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestCreateDoesNotWaitForAListThatIgnoresItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		g := compile(t, atOnce(func(graph.View) ([]any, error) {
			cancel()
			<-stuck
			return []any{1}, nil
		}, nothing))
		store := newStore(t)
		if _, err := g.Create(ctx, graph.RunOptions{Store: store, Thread: "t"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		close(stuck)
		synctest.Wait()
		if _, err := store.Thread(t.Context(), "t"); !errors.Is(err, state.ErrNotFound) {
			t.Fatalf("what was given up made the thread after all: %v", err)
		}
	})
}
