package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
)

const askOnce = `
workflow: ask-once
state:
  ok: {type: boolean}
nodes:
  gate:
    ask:   {question: "Go on?", answer: boolean}
    write: {ok: "${answer}"}
edges:
  - start -> gate -> end
`

// outage is a store that fails once, where it is told to.
type outage struct {
	state.Store
	create, answer, begin func() error
	failed                atomic.Bool
}

func (o *outage) once(fault func() error) error {
	if fault == nil || o.failed.Swap(true) {
		return nil
	}
	return fault()
}

func (o *outage) CreateThread(ctx context.Context, n state.NewThread) (state.Thread, error) {
	if err := o.once(o.create); err != nil {
		return state.Thread{}, err
	}
	return o.Store.CreateThread(ctx, n)
}

func (o *outage) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	if err := o.once(o.answer); err != nil {
		return err
	}
	return o.Store.Answer(ctx, id, answers)
}

func (o *outage) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, rs []state.Record) error {
	if o.begin != nil && !o.failed.Swap(true) {
		return errors.Join(o.Release(ctx, l), o.begin())
	}
	return o.Store.PutInterrupt(ctx, l, seq, i, rs)
}

func away() error { return fmt.Errorf("store: %w", state.ErrUnavailable) }

// asker is a runner of askOnce on a store of its own, seen through an outage.
func asker(t *testing.T, seen *outage) (*runner, *workflow.Workflow) {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"ask.yaml": askOnce})
	wf, err := workflow.Load(filepath.Join(dir, "ask.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	app, err := wire.Open(t.Context(), wire.Settings{Store: "memory:", Workflow: filepath.Join(dir, "ask.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	progress := view.NewProgress(&errs, nil)
	t.Cleanup(progress.Close)
	seen.Store = app.Store
	app.Store = seen
	return &runner{app: app, con: console{in: strings.NewReader(""), out: &out, err: &errs}, progress: progress}, wf
}

func statusOf(t *testing.T, s state.Store, thread string) state.Thread {
	t.Helper()
	th, err := s.Thread(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func TestAnAnswerThatCouldNotBeStoredIsNotForgotten(t *testing.T) {
	t.Parallel()
	seen := &outage{}
	r, wf := asker(t, seen)
	err := r.run(t.Context(), wf, graph.RunOptions{Thread: "t", Definition: wf.Text})
	if code := new(exitError); !errors.As(err, &code) || code.code != exitWaiting {
		t.Fatal(err)
	}
	seen.answer = away
	r.progress = view.NewProgress(new(bytes.Buffer), nil)
	err = r.resume(t.Context(), wf, "t", graph.RunOptions{Answers: map[string]json.RawMessage{"": json.RawMessage("true")}})
	if !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("the answer was not stored, and the person is told %v", err)
	}
	if th := statusOf(t, seen, "t"); th.Status != state.StatusInterrupted || th.Waiting != 1 {
		t.Errorf("thread %+v", th)
	}
}

func TestARunThatCouldNotMakeItsThreadTakesUpNobodyElses(t *testing.T) {
	t.Parallel()
	seen := &outage{}
	r, wf := asker(t, seen)
	g, err := graph.Compile(wf.Spec(r.app.Router))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Create(t.Context(), graph.RunOptions{Store: seen, Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	seen.create = away
	if err := r.run(t.Context(), wf, graph.RunOptions{Thread: "t"}); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if th := statusOf(t, seen, "t"); th.Status != state.StatusPending {
		t.Errorf("somebody else's thread is %s now", th.Status)
	}
}

// TestARunWhoseLeaseWasLostIsTakenUpAgain, unless somebody has stopped the thread
// by then.
func TestARunWhoseLeaseWasLostIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, s state.Store) error
		after     state.Status
	}{
		"nothing happened":    {func(*testing.T, state.Store) error { return nil }, state.StatusInterrupted},
		"it was cancelled":    {func(t *testing.T, s state.Store) error { return s.RequestCancel(t.Context(), "t") }, state.StatusCancelled},
		"a dead one was told": {cancelledUnderTheDead, state.StatusCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := &outage{}
			r, wf := asker(t, seen)
			seen.begin = func() error {
				return errors.Join(c.meanwhile(t, seen.Store), state.LostLease(state.Lease{Thread: "t"}, "it ran out"))
			}
			err := r.run(t.Context(), wf, graph.RunOptions{Thread: "t", Definition: wf.Text})
			if err == nil {
				t.Error("it says nothing")
			}
			if th := statusOf(t, seen, "t"); th.Status != c.after {
				t.Errorf("the thread is %s, want %s; %v", th.Status, c.after, err)
			}
		})
	}
}

// cancelledUnderTheDead asks a holder to stop that dies before it can.
func cancelledUnderTheDead(t *testing.T, s state.Store) error {
	_, err := s.Acquire(t.Context(), "t", "dead", leaseOfTheDead)
	return errors.Join(err, s.RequestCancel(t.Context(), "t"))
}

const leaseOfTheDead = 20 * time.Millisecond
