package graph_test

import (
	"context"
	"errors"
	"testing"

	"junction/graph"
	"junction/state"
)

// late is a store through which somebody asks for the thread's end just before
// the run releases it, too late for the run to be told in time.
type late struct {
	state.Store
	asked counter
}

func (s *late) Release(ctx context.Context, l state.Lease) error {
	if s.asked.add("cancel") == 1 {
		if err := s.Store.RequestCancel(ctx, l.Thread); err != nil {
			return err
		}
	}
	return s.Store.Release(ctx, l)
}

func TestACancelThatComesAsARunStopsIsNotForgotten(t *testing.T) {
	for name, node := range map[string]graph.Func{
		"at a question": do("ok", func(ctx context.Context, _ graph.Input) (any, error) { return graph.Ask(ctx, "ok?") }),
		"in a drain": func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			<-state.Draining(ctx)
			return graph.Update{}, state.ErrDraining
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := compile(t, graph.Spec{
				Channels: []graph.Channel{{Name: "ok"}},
				Nodes:    []graph.Node{{Name: "gate", Run: node}},
				Edges:    edges(line("start", "gate", "end")),
			})
			store := newStore(t)
			drain := make(chan struct{})
			o := graph.RunOptions{Store: &late{Store: store}, Thread: "t"}
			if name == "in a drain" {
				o.Drain = drain
				o.OnEvent = func(e graph.Event) {
					if e.Kind == graph.EventTask {
						close(drain)
					}
				}
			}
			res := run(t, g, o)
			wantStatus(t, res, state.StatusCancelled)
			if !errors.Is(res.Err, graph.ErrCancelRequested) || res.Drained {
				t.Errorf("result %+v", res)
			}
			th, err := store.Thread(t.Context(), "t")
			if err != nil || th.Status != state.StatusCancelled {
				t.Fatalf("thread %+v, %v", th, err)
			}
		})
	}
}

func TestACancelThatComesAfterTheEndChangesNothing(t *testing.T) {
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "ok"}},
		Nodes:    []graph.Node{{Name: "only", Run: put("ok", true)}},
		Edges:    edges(line("start", "only", "end")),
	})
	store := newStore(t)
	wantStatus(t, run(t, g, graph.RunOptions{Store: &late{Store: store}, Thread: "t"}), state.StatusCompleted)
	th, err := store.Thread(t.Context(), "t")
	if err != nil || th.Status != state.StatusCompleted {
		t.Fatalf("thread %+v, %v", th, err)
	}
}
