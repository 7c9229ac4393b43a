package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"junction/state"
)

// InterruptError is what a node that asked must return. It satisfies
// errors.Is(err, ErrInterrupt).
type InterruptError struct {
	ID   string
	Node string
}

func (e *InterruptError) Error() string {
	return fmt.Sprintf("node %q waits for the answer to interrupt %s", e.Node, e.ID)
}

// Unwrap makes errors.Is(err, ErrInterrupt) true.
func (e *InterruptError) Unwrap() error { return ErrInterrupt }

// Ask puts a question to a person. The first time it returns an error that the
// node must return: the thread pauses until the question is answered. When the
// node runs again it returns the answer. Several questions of one node match by
// their order; use [AskNamed] where the order can differ from run to run.
func Ask(ctx context.Context, question any) (json.RawMessage, error) {
	return AskNamed(ctx, "", question, nil)
}

// AskNamed is [Ask] with a name that makes the question's id stable within the
// task and a JSON Schema (a value, or nil) that answers must satisfy.
func AskNamed(ctx context.Context, name string, question, schema any) (json.RawMessage, error) {
	j := state.JournalFrom(ctx)
	if j == nil {
		return nil, errors.New("graph.Ask: the context does not belong to a node's task; pass on the one the node was given")
	}
	return j.Ask(ctx, name, question, schema)
}

// asking keeps the questions of one attempt of a task. An attempt that was left
// behind keeps its own, so that it cannot speak for the one after it.
type asking struct {
	task  *task
	scope string // the task's id, or its error handler's
	mu    sync.Mutex
	count int
	open  []state.Interrupt // asked in this attempt and unanswered
}

// waiting returns the attempt's unanswered questions.
func (a *asking) waiting() []state.Interrupt {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

// ask is the attempt's state.Ask.
func (a *asking) ask(_ context.Context, name string, question, schema any) (json.RawMessage, error) {
	t := a.task
	a.mu.Lock()
	defer a.mu.Unlock()
	if name == "" {
		a.count++
	}
	id := questionID(a.scope, name, a.count)
	if known, ok := asked(t.at.pending, id); ok && known.Answer != nil {
		return slices.Clone(known.Answer), nil
	}
	if slices.ContainsFunc(a.open, func(i state.Interrupt) bool { return i.ID == id }) {
		return nil, &InterruptError{ID: id, Node: t.Node}
	}
	i := state.Interrupt{ID: id, Task: t.ID, Node: t.Node}
	var err error
	if i.Value, err = encodeAny(question); err != nil {
		return nil, fmt.Errorf("node %q: the question: %w", t.Node, err)
	}
	if schema != nil {
		if i.Schema, err = encodeAny(schema); err != nil {
			return nil, fmt.Errorf("node %q: the schema of the answer: %w", t.Node, err)
		}
		if err := checkSchema(i.Schema); err != nil {
			return nil, fmt.Errorf("node %q: the schema of the answer: %w", t.Node, err)
		}
	}
	a.open = append(a.open, i)
	return nil, &InterruptError{ID: id, Node: t.Node}
}

// unanswered is the fault of a node that asked and went on without an answer.
func (a *asking) unanswered() error {
	open := a.waiting()
	if len(open) == 0 {
		return nil
	}
	ids := make([]string, len(open))
	for i := range open {
		ids[i] = open[i].ID
	}
	return &UpdateError{Err: fmt.Errorf("it asked a question and went on without the answer (%s): return the error that Ask gives", strings.Join(ids, ", "))}
}

// asked finds a question that an earlier run of the superstep put.
func asked(pending *state.Snapshot, id string) (state.Interrupt, bool) {
	if pending == nil {
		return state.Interrupt{}, false
	}
	for _, i := range pending.Interrupts {
		if i.ID == id {
			return i, true
		}
	}
	return state.Interrupt{}, false
}

// sortInterrupts orders by Task then ID, as stores do.
func sortInterrupts(is []state.Interrupt) {
	slices.SortFunc(is, func(a, b state.Interrupt) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	})
}
