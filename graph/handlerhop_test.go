package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"junction/graph"
	"junction/state"
)

// sending is a hop of the given effect that counts what leaves the worker.
func sending(ctx context.Context, sent *counter, what string, e state.Effect) error {
	h, err := state.JournalFrom(ctx).Begin("", state.Hash([]byte(what)))
	if err != nil {
		return err
	}
	defer h.Close()
	if _, ok := h.Replay(); ok {
		return nil
	}
	rec := state.Record{Attempt: len(h.Prior()) + 1, Effect: e, Key: h.Key()}
	if err := h.Intent(ctx, rec); err != nil {
		return err
	}
	sent.add(what)
	rec.Status, rec.Final, rec.Result = state.CallSuccess, true, json.RawMessage(`true`)
	return h.Outcome(ctx, rec, true)
}

func TestAnErrorHandlersHopIsNotSentAgainAfterItsQuestion(t *testing.T) {
	var sent, runs counter
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "ok"}},
		Nodes: []graph.Node{{
			Name: "pay",
			Run: func(context.Context, graph.Input) (graph.Update, error) {
				runs.add("pay")
				return graph.Update{}, errBoom
			},
			OnError: do("ok", func(ctx context.Context, in graph.Input) (any, error) {
				if in.Err == nil || state.FailureOf(in.Err).Message != errBoom.Error() {
					t.Errorf("the handler was told %v", in.Err)
				}
				if err := sending(ctx, &sent, "tell the customer", state.Unsafe); err != nil {
					return nil, err
				}
				return graph.Ask(ctx, "was the customer told?")
			}),
		}},
		Edges: edges(line("start", "pay", "end")),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store, Thread: "t"})
	wantStatus(t, res, state.StatusInterrupted)
	res = resume(t, g, "t", graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": json.RawMessage(`true`)}})
	wantStatus(t, res, state.StatusCompleted)
	if n := sent.of("tell the customer"); n != 1 {
		t.Errorf("the handler's unsafe hop was sent %d times", n)
	}
	if n := runs.of("pay"); n != 1 {
		t.Errorf("the node ran %d times: it had failed for good before its handler asked", n)
	}
}

func TestANodeThatFailedForGoodDoesNotRunAgainAfterItsHandlerWasCut(t *testing.T) {
	var sent, runs counter
	cut := errors.New("the process is dead")
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "ok"}},
		Nodes: []graph.Node{{
			Name: "pay",
			Run: func(context.Context, graph.Input) (graph.Update, error) {
				if runs.add("pay") > 1 {
					return graph.Update{}, nil // the world has healed meanwhile
				}
				return graph.Update{}, &graph.NodeError{Node: "pay", Err: errBoom}
			},
			OnError: do("ok", func(ctx context.Context, in graph.Input) (any, error) {
				return state.FailureOf(in.Err).Node, sending(ctx, &sent, "refund", state.Unsafe)
			}),
		}},
		Edges: edges(line("start", "pay", "end")),
	})
	store := newStore(t)
	_, err := g.Run(t.Context(), graph.RunOptions{Store: &failing{Store: store, commit: func(state.Commit) error {
		return errors.Join(state.ErrConflict, cut)
	}}, Thread: "t"})
	if !errors.Is(err, cut) {
		t.Fatalf("the crash ended with %v", err)
	}
	res := resume(t, g, "t", graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if n := sent.of("refund"); n != 1 || runs.of("pay") != 1 || res.State["ok"] != "pay" {
		t.Errorf("refunded %d times after %d runs of the node, told of %v", n, runs.of("pay"), res.State["ok"])
	}
}
