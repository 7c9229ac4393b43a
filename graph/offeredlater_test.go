package graph_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

// TestAQuestionStoredAfterTheMaximumOffersMoreToo: it was put together in time,
// and the task ended late.
func TestAQuestionStoredAfterTheMaximumOffersMoreToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Minute
		var runs counter
		g := compile(t, graph.Spec{
			Channels: []graph.Channel{{Name: "out"}},
			Nodes: []graph.Node{{Name: "pay", Run: do("out", func(ctx context.Context, _ graph.Input) (any, error) {
				h, err := state.JournalFrom(ctx).Begin("", "x")
				if err != nil {
					return nil, err
				}
				defer h.Close()
				if runs.add("pay") > 1 {
					return "more", nil
				}
				if err := h.Intent(ctx, state.Record{Attempt: 1, Effect: state.Unsafe, Started: time.Now(), Max: most}); err != nil {
					return nil, err
				}
				_, err = graph.Ask(ctx, "happened?")
				<-time.After(2 * most)
				return nil, err
			})}},
			Edges: edges(line("start", "pay", "end")),
		})
		store := newStore(t)
		wantStatus(t, run(t, g, graph.RunOptions{Store: store, Thread: "t"}), state.StatusInterrupted)
		if res := resume(t, g, "t", graph.RunOptions{Store: store}); res.State["out"] != "more" {
			t.Fatalf("%s after %d runs", res.Status, runs.of("pay"))
		}
	})
}

// TestAQuestionAboutAnUnknownOutcomeOffersMoreOnceItsMaximumHasPassed: a thread
// that waits is normally left as it is; this one has something new to offer.
func TestAQuestionAboutAnUnknownOutcomeOffersMoreOnceItsMaximumHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = time.Minute
		var runs counter
		g := compile(t, graph.Spec{
			Channels: []graph.Channel{{Name: "out"}},
			Nodes: []graph.Node{{Name: "pay", Run: do("out", func(ctx context.Context, _ graph.Input) (any, error) {
				runs.add("pay")
				h, err := state.JournalFrom(ctx).Begin("", "x")
				if err != nil {
					return nil, err
				}
				defer h.Close()
				rec := state.Record{Attempt: 1, Effect: state.Unsafe, Started: time.Now(), Max: most}
				if prior := h.Prior(); len(prior) > 0 {
					rec = prior[0]
				} else {
					if err := h.Intent(ctx, rec); err != nil {
						return nil, err
					}
					rec.Status, rec.Execution = state.CallError, state.Unknown
					if err := h.Outcome(ctx, rec, true); err != nil {
						return nil, err
					}
				}
				choices := []string{"happened"}
				if time.Since(rec.Started) >= most {
					choices = append(choices, "again")
				}
				return graph.AskNamed(ctx, "unknown", choices, map[string]any{"enum": choices})
			})}},
			Edges: edges(line("start", "pay", "end")),
		})
		store := newStore(t)
		offered := func(res graph.Result) []string {
			t.Helper()
			wantStatus(t, res, state.StatusInterrupted)
			if len(res.Interrupts) != 1 {
				t.Fatalf("%d questions wait, want one: a bare answer must find it", len(res.Interrupts))
			}
			var choices []string
			if err := json.Unmarshal(res.Interrupts[0].Value, &choices); err != nil {
				t.Fatal(err)
			}
			return choices
		}
		o := graph.RunOptions{Store: store}
		res := run(t, g, graph.RunOptions{Store: store, Thread: "t"})
		if got := offered(res); !slices.Equal(got, []string{"happened"}) {
			t.Fatalf("at first %v", got)
		}
		if got := offered(resume(t, g, "t", o)); !slices.Equal(got, []string{"happened"}) || runs.of("pay") != 1 {
			t.Fatalf("before the maximum %v after %d runs", got, runs.of("pay"))
		}
		<-time.After(most)
		for n := range 2 {
			if got := offered(resume(t, g, "t", o)); !slices.Equal(got, []string{"happened", "again"}) || runs.of("pay") != 2+n {
				t.Fatalf("after the maximum %v after %d runs", got, runs.of("pay"))
			}
		}
		o.Answers = map[string]json.RawMessage{"": json.RawMessage(`"again"`)}
		wantStatus(t, resume(t, g, "t", o), state.StatusCompleted)
	})
}
