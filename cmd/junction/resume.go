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
	Busy   string   `enum:"reject,queue,interrupt" default:"reject" help:"What to do when another live process runs the thread: reject; queue: wait until it has ended; interrupt: have it stopped first."`
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
  junction resume 0198c5ee --answer q1='{"choice":"again"}'
  junction resume 0198c5ee --detach --store redis://127.0.0.1:6379`
}

func (c *resumeCmd) Run(ctx context.Context, con console) error {
	answers, err := parseAnswers(c.Answer)
	if err := errors.Join(err, c.check()); err != nil {
		return usage(err)
	}
	store, err := wire.OpenExisting(ctx, c.Store, logger(con))
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
	consul := orWord(c.Consul, thread.Meta["consul"])
	app, err := wire.OpenWith(ctx, store, wire.Settings{Config: config, Consul: consul, Workflow: thread.Meta["file"], Dir: thread.Meta["dir"], Detach: c.Detach, Observer: progress, Probe: probesOfRun(), Log: logger(con), Version: buildVersion})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	r := runner{app: app, con: con, progress: progress, json: c.JSON, flags: c.runFlags, store: wire.Redact(c.Store), consul: consul, thread: thread.ID}
	opt := graph.RunOptions{Answers: answers, Busy: graph.BusyPolicy(c.Busy), WaitBusy: countdown(con, thread.ID)}
	if opt.Busy == graph.BusyQueue {
		opt.WaitBusy = standBy(con, thread.ID)
	}
	live, err := answersLive(ctx, store, thread.ID, answers)
	if err != nil {
		return err
	}
	if live {
		return r.answer(ctx, wf, thread.ID, answers)
	}
	if c.Detach {
		return r.requeue(ctx, wf, thread.ID, opt)
	}
	return r.resume(ctx, wf, thread.ID, opt)
}

// storedWorkflow is the workflow a thread was started with.
func storedWorkflow(ctx context.Context, store state.Store, t state.Thread) (*workflow.Workflow, error) {
	wf, err := wire.Workflow(ctx, store, t)
	if none := new(wire.NoDefinitionError); errors.As(err, &none) {
		return nil, failed(err, "resume it from that program")
	}
	return wf, err
}

// countdown tells how long a live lease has still to run.
func countdown(con console, thread string) func(time.Duration) {
	return func(remaining time.Duration) {
		fmt.Fprintf(con.err, "junction: thread %s is held by another process; its lease runs %s more\n", thread, remaining.Round(time.Second))
	}
}

// standBy tells once that somebody's run is waited for, which may take hours and
// renews its lease all the while.
func standBy(con console, thread string) func(time.Duration) {
	var said bool
	return func(time.Duration) {
		if !said {
			fmt.Fprintf(con.err, "junction: thread %s is run by another process; waiting until that has ended\n", thread)
		}
		said = true
	}
}

// startError explains why a run did not begin or broke off without a result.
func (r *runner) startError(err error) error {
	var busy *state.BusyError
	switch {
	case errors.Is(err, graph.ErrFinished):
		return failed(err, "%s, or junction run FILE for a new one", r.command("history", r.thread))
	case errors.As(err, &busy):
		return failed(err, "%s --busy queue waits until it has ended, --busy interrupt stops it first", r.command("resume", busy.Thread))
	case errors.Is(err, graph.ErrStopped):
		return failed(err, "somebody stopped it meanwhile; %s, if it is to go on", r.command("resume", r.thread))
	case errors.Is(err, state.ErrExists):
		return &exitError{code: exitUsage, err: err, next: r.command("resume", r.thread) + ", or another --thread"}
	case errors.Is(err, state.ErrVanished):
		return failed(err, "ask whoever runs the store what happened to its data; junction threads lists what it holds")
	case errors.Is(err, state.ErrRegressed):
		return failed(err, "%s, and compare it with what the servers did", r.command("history", r.thread))
	case errors.Is(err, state.ErrUnavailable):
		return failed(err, "%s once the store is there again: nothing that was kept is lost", r.command("resume", r.thread))
	case errors.Is(err, state.ErrLeaseLost):
		return failed(err, "junction threads shows how the thread fares, which another worker has taken over")
	case isBadAnswer(err):
		return &exitError{code: exitUsage, err: err, next: r.command("resume", r.thread) + " without --answer shows what is asked"}
	case errors.Is(err, context.DeadlineExceeded) && r.flags.Timeout > 0:
		return failed(fmt.Errorf("--timeout %s was over before the run could begin", r.flags.Timeout), "a longer --timeout")
	}
	return err
}
