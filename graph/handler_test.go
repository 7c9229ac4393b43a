package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"junction/graph"
	"junction/state"
)

func TestAHandlersHopsAreReplayedAndApartFromTheNodes(t *testing.T) {
	w := &world{effects: map[string]int{}}
	dies := true
	g := compile(t, one(graph.Node{
		Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			return graph.Update{}, errors.Join(w.charge(ctx, "node"), errBoom)
		},
		OnError: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			if err := w.charge(ctx, "handler"); err != nil {
				return graph.Update{}, err
			}
			if dies {
				return graph.Update{}, errors.New("the handler fails too")
			}
			return graph.Update{}, nil
		}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	dies = false
	wantStatus(t, resume(t, g, res.Thread, graph.RunOptions{Store: store}), state.StatusCompleted)
	recs, err := store.Records(t.Context(), state.RecordFilter{Thread: res.Thread})
	if err != nil || len(recs) != 2 || len(w.effects) != 2 {
		t.Fatalf("%d records, %d effects, %v: each hop was to be made once", len(recs), len(w.effects), err)
	}
}

func TestAHandlerMayAsk(t *testing.T) {
	g := compile(t, one(graph.Node{
		Run: func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, errBoom },
		OnError: do("x", func(ctx context.Context, in graph.Input) (any, error) {
			return graph.Ask(ctx, "what now, after "+in.Err.Error()+"?")
		})}, graph.Channel{Name: "x"}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusInterrupted)
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": json.RawMessage(`"go on"`)}})
	wantStatus(t, res, state.StatusCompleted)
	if res.State["x"] != "go on" {
		t.Fatalf("state %v", res.State)
	}
}
