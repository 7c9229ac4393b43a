package wire

import (
	"context"
	"fmt"
	"sync"

	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
)

// graphsKept bounds how many workflows stay compiled.
const graphsKept = 256

// Graphs compiles the workflows that threads were started with, each text once.
// It is safe for concurrent use.
type Graphs struct {
	app *App

	mu sync.Mutex
	by map[string]*graph.Graph // by the definition's hash and the name it is reported under
}

// NewGraphs compiles for the servers of app.
func NewGraphs(app *App) *Graphs { return &Graphs{app: app, by: map[string]*graph.Graph{}} }

// NoDefinitionError reports a thread that was not started from a workflow file.
type NoDefinitionError struct{ Thread, Workflow string }

func (e *NoDefinitionError) Error() string {
	return fmt.Sprintf("thread %s was started by a Go program (%s), not from a workflow file", e.Thread, e.Workflow)
}

// Workflow is the workflow a thread was started with.
func Workflow(ctx context.Context, store state.Store, t state.Thread) (*workflow.Workflow, error) {
	if t.Definition == "" {
		return nil, &NoDefinitionError{t.ID, t.Workflow}
	}
	text, err := store.Blob(ctx, t.ID, t.Definition)
	if err != nil {
		return nil, fmt.Errorf("thread %s: its workflow cannot be read: %w", t.ID, err)
	}
	name := t.Meta["file"]
	if name == "" {
		name = t.Workflow
	}
	wf, err := workflow.Parse(name, text)
	if err != nil {
		return nil, fmt.Errorf("thread %s: this version does not accept the workflow it was started with: %w", t.ID, err)
	}
	return wf, nil
}

// Of is the compiled graph of a thread.
func (g *Graphs) Of(ctx context.Context, t state.Thread) (*graph.Graph, error) {
	key := t.Definition + " " + t.Meta["file"]
	g.mu.Lock()
	known := g.by[key]
	g.mu.Unlock()
	if known != nil {
		return known, nil
	}
	wf, err := Workflow(ctx, g.app.Store, t)
	if err != nil {
		return nil, err
	}
	compiled, err := graph.Compile(wf.Spec(g.app.Tools()))
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", t.ID, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.by) >= graphsKept {
		clear(g.by)
	}
	g.by[key] = compiled
	return compiled, nil
}
