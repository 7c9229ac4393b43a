package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

// asker asks one question and writes the answer to its channel.
func asker(runs *counter, channel string) graph.Func {
	return do(channel, func(ctx context.Context, in graph.Input) (any, error) {
		runs.add(channel)
		answer, err := graph.Ask(ctx, "may I, "+channel+"?")
		if err != nil {
			return nil, err
		}
		runs.add(channel + " answered")
		return answer, nil
	})
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func ids(res graph.Result, node string) []string {
	var all []string
	for _, i := range res.Interrupts {
		if i.Node == node {
			all = append(all, i.ID)
		}
	}
	return all
}

func TestEachOfTwoQuestionsIsAnsweredByItself(t *testing.T) {
	var runs counter
	g := compile(t, pair(graph.Node{Run: asker(&runs, "a")}, graph.Node{Run: asker(&runs, "b")}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	if len(res.Interrupts) != 2 || string(res.Interrupts[0].Value) == string(res.Interrupts[1].Value) {
		t.Fatalf("interrupts %+v", res.Interrupts)
	}
	a, b := ids(res, "a")[0], ids(res, "b")[0]

	_, err := g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": raw(`true`)}})
	var ambiguous *graph.AmbiguousAnswerError
	if !errors.As(err, &ambiguous) || len(ambiguous.IDs) != 2 || !slices.Contains(ambiguous.IDs, a) {
		t.Fatalf("a bare answer with two waiting: %v", err)
	}

	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{a: raw(`"yes"`)}})
	wantStatus(t, res, state.StatusInterrupted)
	if got := ids(res, "b"); len(res.Interrupts) != 1 || got[0] != b {
		t.Fatalf("after the first answer %+v", res.Interrupts)
	}
	if runs.of("a") != 2 || runs.of("b") != 1 {
		t.Fatalf("a ran %d times, b %d times: what waits wholly must not run", runs.of("a"), runs.of("b"))
	}
	_, err = g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{a: raw(`"again"`)}})
	if !errors.Is(err, state.ErrAnswered) {
		t.Fatalf("a second answer to one question: %v", err)
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": raw(`"no"`)}})
	wantStatus(t, res, state.StatusCompleted)
	if d := cmp.Diff(map[string]any{"a": "yes", "b": "no"}, res.State); d != "" {
		t.Fatal(d)
	}
	if runs.of("a") != 2 || runs.of("b") != 2 || runs.of("a answered") != 1 {
		t.Fatalf("runs %v", runs.n)
	}
	if _, err := g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store}); !errors.Is(err, graph.ErrFinished) {
		t.Fatalf("resume of a completed thread: %v", err)
	}
}

func TestSeveralQuestionsOfOneNodeMatchByOrderAndName(t *testing.T) {
	g := compile(t, one(graph.Node{Run: do("x", func(ctx context.Context, _ graph.Input) (any, error) {
		_, err1 := graph.Ask(ctx, "first")
		_, err2 := graph.Ask(ctx, "second")
		third, err3 := graph.AskNamed(ctx, "third", "third", nil)
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		return third, nil
	})}, graph.Channel{Name: "x"}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	if len(res.Interrupts) != 3 {
		t.Fatalf("interrupts %+v", res.Interrupts)
	}
	answers := map[string]json.RawMessage{}
	for _, i := range res.Interrupts {
		answers[i.ID] = i.Value
	}
	if len(answers) != 3 {
		t.Fatal("ids are not distinct")
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: answers})
	wantStatus(t, res, state.StatusCompleted)
	if res.State["x"] != "third" {
		t.Fatalf("state %v", res.State)
	}
}

func TestAnAnswerThatDoesNotFitIsRefusedAndTheThreadStillWaits(t *testing.T) {
	g := compile(t, one(graph.Node{Run: do("x", func(ctx context.Context, _ graph.Input) (any, error) {
		return graph.AskNamed(ctx, "ok", "publish?", map[string]any{"type": "boolean"})
	})}, graph.Channel{Name: "x"}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	for _, bad := range []string{`"yes"`, `{`} {
		_, err := g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": raw(bad)}})
		var e *graph.AnswerError
		if !errors.As(err, &e) || e.Node != "n" {
			t.Fatalf("answer %s: %v", bad, err)
		}
		if strings.Contains(err.Error(), "jsonschema") || strings.Contains(err.Error(), "file:") {
			t.Errorf("the validator's own words reach the person who answers: %v", err)
		}
	}
	still := resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, still, state.StatusInterrupted)
	if d := cmp.Diff(ids(res, "n"), ids(still, "n")); d != "" {
		t.Fatal(d)
	}
	if _, err := g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"no such": raw(`1`)}}); !errors.Is(err, state.ErrNotFound) {
		t.Fatalf("an unknown id: %v", err)
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": raw(`true`)}})
	wantStatus(t, res, state.StatusCompleted)
}

func TestGoingOnWithoutTheAnswerIsAnError(t *testing.T) {
	g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
		if _, err := graph.Ask(ctx, "?"); err == nil {
			t.Error("an answer out of nowhere")
		}
		return graph.Update{}, nil
	}}))
	res := run(t, g, graph.RunOptions{Store: newStore(t)})
	wantStatus(t, res, state.StatusFailed)
	var e *graph.UpdateError
	if !errors.As(res.Err, &e) {
		t.Fatalf("error %v", res.Err)
	}
}

func TestSiblingsOfAQuestionFinishAndAreKept(t *testing.T) {
	var runs counter
	asked := make(chan struct{})
	g := compile(t, pair(
		graph.Node{Run: do("a", func(ctx context.Context, in graph.Input) (any, error) {
			_, err := graph.Ask(ctx, "?")
			if runs.add("a") == 1 {
				close(asked)
			}
			return true, err
		})},
		graph.Node{Run: do("b", func(context.Context, graph.Input) (any, error) {
			<-asked
			runs.add("b")
			return true, nil
		})}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": raw(`1`)}})
	wantStatus(t, res, state.StatusCompleted)
	if runs.of("a") != 2 || runs.of("b") != 1 {
		t.Fatalf("runs %v", runs.n)
	}
}

func TestStaticPausesFireOnceEach(t *testing.T) {
	var runs counter
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "x"}, {Name: "y"}},
		Nodes: []graph.Node{
			{Name: "n", PauseBefore: true, PauseAfter: true, Run: do("x", func(context.Context, graph.Input) (any, error) {
				runs.add("n")
				return "written", nil
			})},
			{Name: "m", Run: put("y", 1)},
		},
		Edges: edges(line("start", "n", "m", "end")),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	if len(res.Interrupts) != 1 || runs.of("n") != 0 {
		t.Fatalf("before: %+v, ran %d times", res.Interrupts, runs.of("n"))
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	if len(res.Interrupts) != 1 || runs.of("n") != 1 || res.State["x"] != "written" {
		t.Fatalf("after: %+v, ran %d times, state %v", res.Interrupts, runs.of("n"), res.State)
	}
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if runs.of("n") != 1 || res.State["y"] != int64(1) {
		t.Fatalf("ran %d times, state %v", runs.of("n"), res.State)
	}
}

func TestOnePauseHoldsAllTasksOfItsNode(t *testing.T) {
	s := fanSpec(func(graph.View) ([]any, error) { return []any{1, 2, 3}, nil }, put("found", []any{"x"}))
	s.Nodes[1].PauseBefore, s.Nodes[1].PauseAfter = true, true
	g := compile(t, s)
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	for range 2 {
		wantStatus(t, res, state.StatusInterrupted)
		if len(res.Interrupts) != 1 {
			t.Fatalf("%d interrupts", len(res.Interrupts))
		}
		res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	}
	wantStatus(t, res, state.StatusCompleted)
}
