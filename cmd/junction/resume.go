package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
)

type resumeCmd struct {
	Thread string   `arg:"" help:"The thread's id, or its unambiguous beginning."`
	Answer []string `sep:"none" placeholder:"[ID=]JSON" help:"Answer to a waiting question (repeatable); the id may be left out when only one waits."`
	runFlags
	storeFlags
	configFlag
}

func (*resumeCmd) Help() string {
	return `Goes on where the thread stopped: finished calls are not made again. The workflow is the one
the thread was started with, not today's file.

Examples:
  junction resume 0198c5ee
  junction resume 0198c5ee --answer true
  junction resume 0198c5ee --answer q1='{"choice":"again"}'`
}

func (c *resumeCmd) Run(ctx context.Context, con console) error {
	answers, err := parseAnswers(c.Answer)
	if err != nil {
		return usage(err)
	}
	store, err := wire.OpenExisting(ctx, c.Store)
	if err != nil {
		return wireError(err)
	}
	defer closeStore(store, con)
	thread, err := findThread(ctx, store, c.Thread)
	if err != nil {
		return err
	}
	wf, err := storedWorkflow(ctx, store, thread)
	if err != nil {
		return err
	}
	config := c.Config
	if config == "" {
		config = thread.Meta["config"]
	}
	progress := view.NewProgress(con.err, con.width)
	defer progress.Close()
	app, err := wire.OpenWith(store, wire.Settings{Config: config, Workflow: thread.Meta["file"], Dir: thread.Meta["dir"], Observer: progress, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	r := runner{app: app, con: con, progress: progress, json: c.JSON, flags: c.runFlags, store: c.Store, thread: thread.ID}
	return r.resume(ctx, wf, thread.ID, graph.RunOptions{Answers: answers, WaitBusy: countdown(con, thread.ID)})
}

// storedWorkflow is the workflow a thread was started with.
func storedWorkflow(ctx context.Context, store state.Store, t state.Thread) (*workflow.Workflow, error) {
	if t.Definition == "" {
		return nil, failed(fmt.Errorf("thread %s was started by a Go program (%s), not from a workflow file", t.ID, t.Workflow), "resume it from that program")
	}
	text, err := store.Blob(ctx, t.ID, t.Definition)
	if err != nil {
		return nil, fmt.Errorf("thread %s: its workflow cannot be read: %w", t.ID, err)
	}
	wf, err := workflow.Parse(orWord(t.Meta["file"], t.Workflow), text)
	if err != nil {
		return nil, fmt.Errorf("thread %s: this version does not accept the workflow it was started with: %w", t.ID, err)
	}
	return wf, nil
}

// countdown tells how long a live lease has still to run.
func countdown(con console, thread string) func(time.Duration) {
	return func(remaining time.Duration) {
		fmt.Fprintf(con.err, "junction: thread %s is held by another process; its lease runs %s more\n", thread, remaining.Round(time.Second))
	}
}

// startError explains why a run did not begin or broke off without a result.
func (r *runner) startError(err error) error {
	var busy *state.BusyError
	switch {
	case errors.Is(err, graph.ErrFinished):
		return failed(err, "%s, or junction run FILE for a new one", r.command("history", r.thread))
	case errors.As(err, &busy):
		return failed(err, "junction resume %s once it has ended, or junction cancel %s", busy.Thread, busy.Thread)
	case errors.Is(err, state.ErrExists):
		return &exitError{code: exitUsage, err: err, next: r.command("resume", r.thread) + ", or another --thread"}
	case errors.Is(err, state.ErrLeaseLost):
		return failed(err, "junction threads shows how the thread fares, which another worker has taken over")
	case isBadAnswer(err):
		return &exitError{code: exitUsage, err: err, next: r.command("resume", r.thread) + " without --answer shows what is asked"}
	case errors.Is(err, context.DeadlineExceeded) && r.flags.Timeout > 0:
		return failed(fmt.Errorf("--timeout %s was over before the run could begin", r.flags.Timeout), "a longer --timeout")
	}
	return err
}
