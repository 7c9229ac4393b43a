package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
)

// answersLive reports whether every answer is for a question that a call waits for
// in the middle, so that whoever runs the thread takes it without being stopped.
func answersLive(ctx context.Context, store state.Store, thread string, answers map[string]json.RawMessage) (bool, error) {
	if len(answers) == 0 {
		return false, nil
	}
	snap, err := store.Load(ctx, thread, 0)
	if err != nil {
		return false, err
	}
	live, others := map[string]bool{}, 0
	for _, i := range snap.Interrupts {
		if i.Answer == nil && i.Live {
			live[i.ID] = true
		} else if i.Answer == nil {
			others++
		}
	}
	if _, bare := answers[""]; bare {
		return len(live) == 1 && others == 0, nil
	}
	for id := range answers {
		if !live[id] {
			return false, nil
		}
	}
	return true, nil
}

// answer gives answers to a call that waits for them, and goes on with the thread
// where nobody runs it any more: then the question is put again by a new call.
func (r *runner) answer(ctx context.Context, wf *workflow.Workflow, thread string, answers map[string]json.RawMessage) error {
	if err := graph.Answer(ctx, r.app.Store, thread, answers); err != nil {
		return r.startError(err)
	}
	err := r.resume(ctx, wf, thread, graph.RunOptions{})
	if busy := (*state.BusyError)(nil); !errors.As(err, &busy) {
		return err
	}
	r.progress.Close()
	if r.json {
		return view.JSON(r.con.out, map[string]any{"thread": thread, "status": state.StatusRunning})
	}
	_, err = fmt.Fprintf(r.con.out, "answered: the call that asked goes on, in the process that runs thread %s\n  follow: junction threads --watch%s\n", thread, r.storeFlag())
	return err
}
