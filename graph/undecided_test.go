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

// flaky is a store whose records cannot be put for a while.
type flaky struct {
	state.Store
	fails counter
	most  int
	when  func(state.Record) bool // of the last record of an operation
}

var errUnplugged = errors.New("connection reset by the store")

func (f *flaky) PutRecords(ctx context.Context, l state.Lease, rs []state.Record) error {
	if f.when(rs[len(rs)-1]) && f.fails.add("put") <= f.most {
		return errUnplugged
	}
	return f.Store.PutRecords(ctx, l, rs)
}

// charging is a graph whose one node makes an unsafe hop and writes its result;
// its handler writes an excuse.
func charging(t *testing.T, sent, handled *counter) *graph.Graph {
	return compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "out"}},
		Nodes: []graph.Node{{
			Name: "pay",
			Run: do("out", func(ctx context.Context, _ graph.Input) (any, error) {
				return "paid", sending(ctx, sent, "charge", state.Unsafe)
			}),
			OnError: do("out", func(context.Context, graph.Input) (any, error) {
				handled.add("pay")
				return "not paid", nil
			}),
		}},
		Edges: edges(line("start", "pay", "end")),
	})
}

func isIntent(r state.Record) bool  { return r.Status == state.CallOpen }
func isOutcome(r state.Record) bool { return r.Status != state.CallOpen }

func TestAStoreThatStumblesOverAHopsRecordIsTriedAgain(t *testing.T) {
	for name, when := range map[string]func(state.Record) bool{"intent": isIntent, "outcome": isOutcome} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent, handled counter
				g := charging(t, &sent, &handled)
				store := newStore(t)
				res := run(t, g, graph.RunOptions{Store: &flaky{Store: store, most: 2, when: when}, Thread: "t"})
				wantStatus(t, res, state.StatusCompleted)
				if res.State["out"] != "paid" || sent.of("charge") != 1 {
					t.Fatalf("%v after %d requests", res.State, sent.of("charge"))
				}
			})
		})
	}
}

func TestAnOutcomeTheStoreRefusesIsNoFailureForAnErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, handled counter
		g := charging(t, &sent, &handled)
		store := newStore(t)
		res := run(t, g, graph.RunOptions{Store: &flaky{Store: store, most: 100, when: isOutcome}, Thread: "t"})
		wantStatus(t, res, state.StatusFailed)
		if handled.of("pay") != 0 || !errors.Is(res.Err, errUnplugged) {
			t.Fatalf("the handler ran %d times for %v: the charge was made", handled.of("pay"), res.Err)
		}
		res = resume(t, g, "t", graph.RunOptions{Store: store})
		wantStatus(t, res, state.StatusCompleted)
		if res.State["out"] != "paid" || sent.of("charge") != 1 {
			t.Fatalf("%v after %d requests: the outcome rode in the thread's status", res.State, sent.of("charge"))
		}
	})
}

func TestAnErrorHandlerDoesNotTakeAnUnknownOutcomeForAFailure(t *testing.T) {
	for _, e := range []state.Effect{state.Conditional, state.Unsafe} {
		t.Run(string(e), func(t *testing.T) {
			var sent, handled counter
			g := compile(t, graph.Spec{
				Channels: []graph.Channel{{Name: "out"}},
				Nodes: []graph.Node{{
					Name: "pay",
					Run: do("out", func(ctx context.Context, _ graph.Input) (any, error) {
						h, err := state.JournalFrom(ctx).Begin("", "x")
						if err != nil {
							return nil, err
						}
						defer h.Close()
						if len(h.Prior()) > 0 {
							return graph.Ask(ctx, "did it happen?")
						}
						rec := state.Record{Attempt: 1, Effect: e}
						if err := h.Intent(ctx, rec); err != nil {
							return nil, err
						}
						sent.add("pay")
						rec.Status, rec.Execution = state.CallTimeout, state.Unknown
						return nil, errors.Join(errBoom, h.Outcome(ctx, rec, true))
					}),
					OnError: do("out", func(context.Context, graph.Input) (any, error) {
						handled.add("pay")
						return "not paid", nil
					}),
				}},
				Edges: edges(line("start", "pay", "end")),
			})
			store := newStore(t)
			res := run(t, g, graph.RunOptions{Store: store, Thread: "t"})
			wantStatus(t, res, state.StatusFailed)
			if handled.of("pay") != 0 {
				t.Fatal("the handler went on as if nothing had happened")
			}
			wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: store}), state.StatusInterrupted)
			res = resume(t, g, "t", graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": json.RawMessage(`"yes"`)}})
			wantStatus(t, res, state.StatusCompleted)
			if res.State["out"] != "yes" || sent.of("pay") != 1 {
				t.Fatalf("%v after %d requests", res.State, sent.of("pay"))
			}
		})
	}
}

// givenUpError is an unknown outcome on which somebody has decided.
type givenUpError struct{ error }

func (givenUpError) Settled() bool { return true }

func TestAnErrorHandlerRunsOnceAPersonHasGivenUpAnUnknownOutcome(t *testing.T) {
	var handled counter
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "out"}},
		Nodes: []graph.Node{{
			Name: "pay",
			Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
				h, err := state.JournalFrom(ctx).Begin("", "x")
				if err != nil {
					return graph.Update{}, err
				}
				defer h.Close()
				rec := state.Record{Attempt: 1, Effect: state.Unsafe, Started: time.Now()}
				return graph.Update{}, errors.Join(h.Intent(ctx, rec), givenUpError{errBoom})
			},
			OnError: do("out", func(context.Context, graph.Input) (any, error) { return handled.add("pay"), nil }),
		}},
		Edges: edges(line("start", "pay", "end")),
	})
	wantStatus(t, run(t, g, graph.RunOptions{Store: newStore(t)}), state.StatusCompleted)
	if handled.of("pay") != 1 {
		t.Fatalf("the handler ran %d times", handled.of("pay"))
	}
}

// TestANodeThatPassesOverACutHopHasNotFinished: the node takes the error of a
// hop that a drain cut for one it may go on after.
func TestANodeThatPassesOverACutHopHasNotFinished(t *testing.T) {
	begun := make(chan struct{})
	runs := 0
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "out"}},
		Nodes: []graph.Node{{Name: "pay", Run: do("out", func(ctx context.Context, _ graph.Input) (any, error) {
			runs++
			h, err := state.JournalFrom(ctx).Begin("", "x")
			if err != nil {
				return nil, err
			}
			defer h.Close()
			if len(h.Prior()) > 0 {
				return graph.Ask(ctx, "did it happen?")
			}
			if err := h.Intent(ctx, state.Record{Attempt: 1, Effect: state.Unsafe}); err != nil {
				return nil, err
			}
			close(begun)
			<-state.Draining(ctx) // the call is cut, and its error passed over
			return "not paid", nil
		})}},
		Edges: edges(line("start", "pay", "end")),
	})
	store := newStore(t)
	drain := make(chan struct{})
	go func() {
		<-begun
		close(drain)
	}()
	res := run(t, g, graph.RunOptions{Store: store, Thread: "t", Drain: drain})
	if !res.Drained || res.Status != state.StatusRunning {
		t.Fatalf("%s, drained %v: %v", res.Status, res.Drained, res.State)
	}
	wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: store}), state.StatusInterrupted)
	if runs != 2 {
		t.Errorf("the node ran %d times", runs)
	}
}
