package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

func untilCut(ctx context.Context, _ graph.Input) (graph.Update, error) {
	<-ctx.Done()
	return graph.Update{}, ctx.Err()
}

func one(n graph.Node, channels ...graph.Channel) graph.Spec {
	n.Name = "n"
	return graph.Spec{Channels: channels, Nodes: []graph.Node{n}, Edges: edges(line("start", "n", "end"))}
}

func TestATimeoutEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g := compile(t, one(graph.Node{Run: untilCut, Timeout: 3 * time.Second, Retry: &graph.Retry{Attempts: 2, Delay: time.Nanosecond}}))
		res := run(t, g, graph.RunOptions{})
		wantStatus(t, res, state.StatusFailed)
		var timeout *graph.TimeoutError
		if !errors.As(res.Err, &timeout) || timeout.Node != "n" {
			t.Fatalf("error %v", res.Err)
		}
		if d := time.Since(begun); d < 6*time.Second || d > 6*time.Second+time.Millisecond {
			t.Fatalf("two attempts took %s", d)
		}
		if f := state.FailureOf(res.Err); f.Code != "node_timeout" {
			t.Fatalf("failure %+v", f)
		}
	})
}

func TestALongTimeoutIsHonouredByEveryLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := compile(t, one(graph.Node{Timeout: 5 * time.Hour, Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			select {
			case <-time.After(4 * time.Hour):
				return graph.Update{}, nil
			case <-ctx.Done():
				return graph.Update{}, ctx.Err()
			}
		}}))
		wantStatus(t, run(t, g, graph.RunOptions{Store: newStore(t), LeaseTTL: 2 * time.Hour}), state.StatusCompleted)
	})
}

func TestTheTimeoutBindsTheErrorHandlerToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g := compile(t, one(graph.Node{
			Run:     func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, errBoom },
			OnError: untilCut, Timeout: 2 * time.Second,
		}))
		res := run(t, g, graph.RunOptions{})
		wantStatus(t, res, state.StatusFailed)
		var timeout *graph.TimeoutError
		if !errors.As(res.Err, &timeout) || time.Since(begun) != 2*time.Second {
			t.Fatalf("error %v after %s", res.Err, time.Since(begun))
		}
	})
}

func TestANodeThatIgnoresItsTimeoutIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		g := compile(t, one(graph.Node{Timeout: time.Second, Run: func(context.Context, graph.Input) (graph.Update, error) {
			<-stuck
			return graph.Update{}, nil
		}}))
		res := run(t, g, graph.RunOptions{Grace: 2 * time.Second})
		wantStatus(t, res, state.StatusFailed)
		var timeout *graph.TimeoutError
		if !errors.As(res.Err, &timeout) || res.Abandoned != 1 {
			t.Fatalf("error %v, %d abandoned", res.Err, res.Abandoned)
		}
		close(stuck)
	})
}

func TestAnErrorHandlerIsRecordedAndNotRunAgain(t *testing.T) {
	var handled counter
	var fails = true
	g := compile(t, graph.Spec{
		Channels: []graph.Channel{{Name: "saved"}},
		Nodes: []graph.Node{
			{Name: "risky",
				Run: func(context.Context, graph.Input) (graph.Update, error) {
					handled.add("node")
					return graph.Update{}, errBoom
				},
				OnError: do("saved", func(_ context.Context, in graph.Input) (any, error) {
					handled.add("handler")
					return in.Err.Error(), nil
				})},
			{Name: "later", Run: func(context.Context, graph.Input) (graph.Update, error) {
				if fails {
					return graph.Update{}, errBoom
				}
				return graph.Update{}, nil
			}},
		},
		Edges: edges(line("start", "risky", "later", "end")),
	})
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	fails = false
	res = resume(t, g, res.Thread, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if handled.of("node") != 1 || handled.of("handler") != 1 || res.State["saved"] != "boom" {
		t.Fatalf("node %d, handler %d, state %v", handled.of("node"), handled.of("handler"), res.State)
	}
}

func TestAHandledFailureBesideAFailureStaysHandled(t *testing.T) {
	var handled counter
	fails := true
	handlerDone := make(chan struct{})
	g := compile(t, pair(
		graph.Node{
			Run: func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, errBoom },
			OnError: func(context.Context, graph.Input) (graph.Update, error) {
				handled.add("handler")
				close(handlerDone)
				return graph.Update{}, nil
			}},
		graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
			if fails {
				<-handlerDone
				return graph.Update{}, errBoom
			}
			return graph.Update{}, nil
		}}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusFailed)
	snap, err := store.Load(t.Context(), res.Thread, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range snap.Pending {
		if w.Handled == nil || w.Handled.Node != "a" {
			t.Fatalf("the handled failure is not recorded: %+v", w)
		}
	}
	fails = false
	wantStatus(t, resume(t, g, res.Thread, graph.RunOptions{Store: store}), state.StatusCompleted)
	if handled.of("handler") != 1 {
		t.Fatalf("the handler ran %d times", handled.of("handler"))
	}
}
