package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"junction/state"
	"junction/state/schema"
	"junction/state/value"
)

// AmbiguousAnswerError is a bare answer while several questions wait.
type AmbiguousAnswerError struct {
	Thread string
	IDs    []string // of the waiting questions
}

func (e *AmbiguousAnswerError) Error() string {
	return fmt.Sprintf("thread %s waits for %d answers; name the one that is meant: %s", e.Thread, len(e.IDs), strings.Join(e.IDs, ", "))
}

// AnswerError is an answer that does not fit its question. Nothing was stored;
// the thread still waits.
type AnswerError struct {
	ID   string // of the interrupt, or "" when none waits
	Node string
	Err  error
}

func (e *AnswerError) Error() string {
	if e.ID == "" {
		return fmt.Sprintf("the answer cannot be used: %v", e.Err)
	}
	return fmt.Sprintf("the answer to interrupt %s of node %q does not fit: %v", e.ID, e.Node, e.Err)
}

// Unwrap returns the cause.
func (e *AnswerError) Unwrap() error { return e.Err }

// answers resolves and checks the caller's answers and adds those that static
// interrupts need: nothing but being resumed.
func answers(ctx context.Context, snap state.Snapshot, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(given))
	var open, static []state.Interrupt
	for _, i := range snap.Interrupts {
		switch {
		case i.Answer != nil:
		case isPause(snap, i):
			static = append(static, i)
			all[i.ID] = json.RawMessage("true")
		default:
			open = append(open, i)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		answer := given[id]
		if id == "" {
			i, err := bare(snap.Thread, open, static)
			if err != nil {
				return nil, err
			}
			id = i
		}
		if err := checkAnswer(ctx, snap, id, answer); err != nil {
			return nil, err
		}
		all[id] = answer
	}
	return all, nil
}

// bare finds the question that an answer without an id is meant for.
func bare(thread string, open, static []state.Interrupt) (string, error) {
	if len(open) == 0 {
		open = static
	}
	switch len(open) {
	case 0:
		return "", &AnswerError{Err: fmt.Errorf("thread %s waits for none", thread)}
	case 1:
		return open[0].ID, nil
	}
	e := &AmbiguousAnswerError{Thread: thread}
	for _, i := range open {
		e.IDs = append(e.IDs, i.ID)
	}
	return "", e
}

// checkAnswer holds an answer to its question's schema. Whether the question
// exists and still waits is the store's to say, under its own lock.
func checkAnswer(ctx context.Context, snap state.Snapshot, id string, answer json.RawMessage) error {
	for _, i := range snap.Interrupts {
		if i.ID != id {
			continue
		}
		v, err := value.Parse(answer)
		if err == nil && i.Schema != nil {
			err = validate(ctx, i.Schema, v)
		}
		if err != nil {
			return &AnswerError{ID: id, Node: i.Node, Err: err}
		}
	}
	return nil
}

// checkSchema reports why a question's schema cannot be used.
func checkSchema(raw json.RawMessage) error {
	_, err := schema.Compile(raw)
	return err
}

func validate(ctx context.Context, raw json.RawMessage, answer any) error {
	s, err := schema.Compile(raw)
	if err != nil {
		return err
	}
	return s.Check(ctx, answer)
}

// isPause tells a static interrupt from a question.
func isPause(snap state.Snapshot, i state.Interrupt) bool {
	for _, when := range []string{"before", "after"} {
		if i.ID == pauseID(snap.Thread, snap.Lineage, snap.Seq, i.Node, when) {
			return true
		}
	}
	return false
}

// Answer stores answers to a thread's waiting questions, all or none, for a
// worker that will resume it: under interrupt ids, or under "" for the only one
// that waits. Static interrupts are answered with it, as a resume does. One that
// does not fit is an *AnswerError, a bare one for several questions an
// *AmbiguousAnswerError; the thread still waits then.
func Answer(ctx context.Context, store state.Store, thread string, answers map[string]json.RawMessage) error {
	return storeAnswers(ctx, store, thread, answers)
}

// storeAnswers resolves answers against the thread's waiting questions and
// stores them, all or none.
func storeAnswers(ctx context.Context, store state.Store, thread string, given map[string]json.RawMessage) error {
	snap, err := store.Load(ctx, thread, 0)
	if err != nil {
		return err
	}
	all, err := answers(ctx, snap, given)
	if err != nil || len(all) == 0 {
		return err
	}
	return store.Answer(ctx, thread, all)
}
