package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"junction/graph"
	"junction/state"
)

// caller asks a question in the middle of a call that may take as long as within.
func caller(runs *counter, within time.Duration) graph.Func {
	return do("a", func(ctx context.Context, _ graph.Input) (any, error) {
		runs.add("run")
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		answer, err := state.JournalFrom(ctx).AskLive(ctx, "live-1", map[string]any{"question": "who?"}, map[string]any{"type": "string"})
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return "nobody", nil
			}
			return nil, err
		}
		return answer, nil
	})
}

// alone is a graph of one node that writes channel a.
func alone(n graph.Node) graph.Spec {
	n.Name = "ask"
	return graph.Spec{Channels: []graph.Channel{{Name: "a"}}, Nodes: []graph.Node{n}, Edges: edges(line("start", "ask", "end"))}
}

// liveQuestion waits until the thread asks a question that its call waits for.
func liveQuestion(t *testing.T, store state.Store, thread string) state.Interrupt {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); {
		snap, err := store.Load(t.Context(), thread, 0)
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			t.Fatal(err)
		}
		if len(snap.Interrupts) > 0 {
			return snap.Interrupts[0]
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("no question was put")
	return state.Interrupt{}
}

func TestAQuestionOfACallIsAnsweredWhileTheCallLives(t *testing.T) {
	var runs counter
	g := compile(t, alone(graph.Node{Run: caller(&runs, time.Minute)}))
	store := newStore(t)
	ended := make(chan graph.Result, 1)
	go func() {
		res, err := g.Run(t.Context(), graph.RunOptions{Store: store, Thread: "t"})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	q := liveQuestion(t, store, "t")
	if !q.Live || q.Answer != nil {
		t.Fatalf("question %+v", q)
	}
	var wrong *graph.AnswerError
	if err := graph.Answer(t.Context(), store, "t", map[string]json.RawMessage{q.ID: raw(`7`)}); !errors.As(err, &wrong) {
		t.Errorf("an answer of the wrong type: %v", err)
	}
	if err := graph.Answer(t.Context(), store, "t", map[string]json.RawMessage{"": raw(`"Ada"`)}); err != nil {
		t.Fatal(err)
	}
	res := <-ended
	wantStatus(t, res, state.StatusCompleted)
	if got := res.State["a"]; got != "Ada" {
		t.Errorf("answered %v", got)
	}
	if n := runs.of("run"); n != 1 {
		t.Errorf("the node ran %d times", n)
	}
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	var runs counter
	g := compile(t, alone(graph.Node{Run: caller(&runs, 50*time.Millisecond), PauseAfter: true}))
	store := newStore(t)
	res := run(t, g, graph.RunOptions{Store: store, Thread: "t"})
	wantStatus(t, res, state.StatusInterrupted)
	th, err := store.Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if th.Waiting != 1 || len(res.Interrupts) != 1 || res.Interrupts[0].Live {
		t.Errorf("%d questions wait, %+v; want the pause alone", th.Waiting, res.Interrupts)
	}
	res = resume(t, g, "t", graph.RunOptions{Store: store})
	wantStatus(t, res, state.StatusCompleted)
	if got := res.State["a"]; got != "nobody" {
		t.Errorf("state %v", res.State)
	}
}

func TestAQuestionWhoseAskerDiedHoldsNothingBack(t *testing.T) {
	var runs counter
	g := compile(t, alone(graph.Node{Run: caller(&runs, time.Minute)}))
	store := newStore(t)
	ctx, kill := context.WithCancel(t.Context())
	go func() {
		liveQuestion(t, store, "t")
		kill()
	}()
	if res, err := g.Run(ctx, graph.RunOptions{Store: unanswerable{store}, Thread: "t"}); err == nil && res.Status == state.StatusCompleted {
		t.Fatalf("the run completed: %+v", res)
	}
	ended := make(chan graph.Result, 1)
	go func() { ended <- resume(t, g, "t", graph.RunOptions{Store: store}) }()
	for limit := time.Now().Add(10 * time.Second); runs.of("run") < 2; {
		if time.Now().After(limit) {
			t.Fatal("the task was held back by a question nobody waits for any more")
		}
		<-time.After(5 * time.Millisecond)
	}
	q := liveQuestion(t, store, "t")
	if err := graph.Answer(t.Context(), store, "t", map[string]json.RawMessage{q.ID: raw(`"Ada"`)}); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, <-ended, state.StatusCompleted)
}

// unanswerable is a store that takes no answers: what a dead run would withdraw
// stays.
type unanswerable struct{ state.Store }

func (unanswerable) Answer(context.Context, string, map[string]json.RawMessage) error {
	return errors.New("the process is dead")
}
