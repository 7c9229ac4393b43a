package workflow_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
	"junction/state/document"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type obj = map[string]any

// tools answers hops from functions by capability, or by server/tool.
type tools struct {
	answer map[string]func(state.Call) (state.Answer, error)

	mu    sync.Mutex
	calls []state.Call
}

func (t *tools) Do(ctx context.Context, c state.Call) (state.Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, c)
	name := c.Capability
	if name == "" {
		name = c.Server + "/" + c.Tool
	}
	f := t.answer[name]
	if f == nil {
		return state.Answer{}, errors.New("nobody offers " + name)
	}
	return f(c)
}

func (t *tools) made() []state.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]state.Call(nil), t.calls...)
}

// gives answers with a value.
func gives(v any) func(state.Call) (state.Answer, error) {
	return func(state.Call) (state.Answer, error) {
		return state.Answer{Value: v, Server: "srv-1", Tool: "t"}, nil
	}
}

// says answers with a tool's own error.
func says(v any) func(state.Call) (state.Answer, error) {
	return func(state.Call) (state.Answer, error) {
		return state.Answer{Value: v, IsError: true, Server: "srv-1", Tool: "t"}, nil
	}
}

func parse(t *testing.T, text string) *workflow.Workflow {
	t.Helper()
	w, err := workflow.Parse("w.yaml", []byte(text))
	if err != nil {
		t.Fatalf("faults:\n%v", err)
	}
	return w
}

func compile(t *testing.T, w *workflow.Workflow, tl workflow.Tools) *graph.Graph {
	t.Helper()
	g, err := graph.Compile(w.Spec(tl))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// run runs a workflow in memory, in checked mode.
func run(t *testing.T, text string, tl workflow.Tools, in obj) graph.Result {
	t.Helper()
	w := parse(t, text)
	input, err := w.Input(in)
	if err != nil {
		t.Fatal(err)
	}
	res, err := compile(t, w, tl).Run(t.Context(), graph.RunOptions{Input: input, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// completed is run for a thread that must complete; it returns the state.
func completed(t *testing.T, text string, tl workflow.Tools, in obj) obj {
	t.Helper()
	res := run(t, text, tl, in)
	if res.Status != state.StatusCompleted {
		t.Fatalf("status %s: %v", res.Status, res.Err)
	}
	return res.State
}

// faults returns the faults of a file, without its name, one a line.
func faults(t *testing.T, text string) string {
	t.Helper()
	_, err := workflow.Parse("w.yaml", []byte(text))
	if err == nil {
		return ""
	}
	var fs document.Faults
	if !errors.As(err, &fs) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	return strings.ReplaceAll(err.Error(), "w.yaml:", "")
}
