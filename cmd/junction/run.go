package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
)

type runCmd struct {
	File   string   `arg:"" help:"Workflow file (YAML)."`
	Set    []string `sep:"none" placeholder:"KEY=VALUE" help:"Initial value of a channel (repeatable); KEY=@FILE reads a file."`
	Input  string   `placeholder:"FILE.json" help:"Initial values as a JSON object; --set wins."`
	Thread string   `placeholder:"ID" help:"Id of the new thread. Default: a fresh one."`
	runFlags
	storeFlags
	configFlag
}

func (*runCmd) Help() string {
	return `Runs the workflow to its end, a question or a failure; everything is kept, so that a run
that was stopped or killed goes on with "junction resume THREAD" without repeating a finished call.

Example:
  junction run examples/codereview/review.yaml --set repo=../service --yes

Exit codes: 0 done, 1 failed, 2 bad usage or file, 3 waiting for an answer, 4 cancelled.`
}

func (c *runCmd) Run(ctx context.Context, con console) error {
	wf, err := workflow.Load(c.File)
	if err != nil {
		return usage(err)
	}
	input, err := c.input(wf)
	if err != nil {
		return usage(err)
	}
	meta, err := metaOf(c.File, c.Config)
	if err != nil {
		return usage(err)
	}
	progress := view.NewProgress(con.err, con.width)
	defer progress.Close()
	app, err := wire.Open(ctx, wire.Settings{Store: c.Store, Config: c.Config, Workflow: c.File, NeedConfig: len(wf.Uses()) > 0, Observer: progress, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	if _, err := app.Store.Prune(ctx, retention); err != nil { // old threads are no reason not to run a new one
		fmt.Fprintf(con.err, "junction: old threads could not be deleted: %v\n", err)
	}
	r := runner{app: app, con: con, progress: progress, json: c.JSON, flags: c.runFlags, store: app.Address, thread: c.Thread}
	return r.run(ctx, wf, graph.RunOptions{
		Thread: c.Thread, Input: input, Definition: wf.Text,
		Meta: meta,
	})
}

// metaOf is what a thread keeps to be resumed from anywhere: absolute paths of
// the workflow file, of the servers file where one was named, and the working
// directory.
func metaOf(file, config string) (map[string]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	meta := map[string]string{"dir": dir}
	if meta["file"], err = filepath.Abs(file); err != nil {
		return nil, err
	}
	if config != "" {
		meta["config"], err = filepath.Abs(config)
	}
	return meta, err
}

// input merges --input and --set and holds them against the declared channels.
func (c *runCmd) input(wf *workflow.Workflow) (map[string]any, error) {
	values, err := readInput(c.Input)
	sets, faults := parseSets(c.Set)
	if err != nil {
		faults = append(faults, err)
	}
	for k, v := range sets {
		values[k] = v
	}
	input, err := wf.Input(values)
	if err != nil {
		faults = append(faults, err)
	}
	return input, errors.Join(faults...)
}

// runner runs or resumes a thread and tells how it went.
type runner struct {
	app      *wire.App
	con      console
	progress *view.Progress
	json     bool
	flags    runFlags
	store    string // its address, for the commands that concern the thread; "" for the default
	thread   string // as far as it is known beforehand
}

func (r *runner) run(ctx context.Context, wf *workflow.Workflow, opt graph.RunOptions) error {
	return r.drive(ctx, wf, opt, func(ctx context.Context, g *graph.Graph, opt graph.RunOptions) (graph.Result, error) {
		return g.Run(ctx, opt)
	})
}

func (r *runner) resume(ctx context.Context, wf *workflow.Workflow, thread string, opt graph.RunOptions) error {
	return r.drive(ctx, wf, opt, func(ctx context.Context, g *graph.Graph, opt graph.RunOptions) (graph.Result, error) {
		return g.Resume(ctx, thread, opt)
	})
}

type startFunc func(context.Context, *graph.Graph, graph.RunOptions) (graph.Result, error)

// drive starts a run and, with --yes, answers yes-or-no questions until none
// is left.
func (r *runner) drive(ctx context.Context, wf *workflow.Workflow, opt graph.RunOptions, start startFunc) error {
	g, err := graph.Compile(wf.Spec(r.app.Router))
	if err != nil {
		return usage(err)
	}
	if r.flags.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.flags.Timeout, fmt.Errorf("--timeout %s is over", r.flags.Timeout))
		defer cancel()
	}
	opt.Store, opt.Drain, opt.OnEvent = r.app.Store, drainOf(ctx), r.progress.Event
	res, err := start(ctx, g, opt)
	for err == nil && r.flags.Yes && res.Status == state.StatusInterrupted {
		answers := yesTo(res.Interrupts)
		if len(answers) == 0 {
			break
		}
		res, err = g.Resume(ctx, res.Thread, graph.RunOptions{Store: opt.Store, Drain: opt.Drain, OnEvent: opt.OnEvent, Answers: answers})
	}
	r.progress.Close()
	if err != nil {
		return r.startError(err)
	}
	return r.finish(context.WithoutCancel(ctx), res)
}

// yesTo answers the questions that take a boolean.
func yesTo(waiting []state.Interrupt) map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	for _, i := range waiting {
		var schema struct{ Type string }
		if json.Unmarshal(i.Schema, &schema) == nil && schema.Type == "boolean" {
			answers[i.ID] = json.RawMessage("true")
		}
	}
	return answers
}

// finish prints the outcome and turns it into an exit code.
func (r *runner) finish(ctx context.Context, res graph.Result) error {
	records, err := r.app.Store.Records(ctx, state.RecordFilter{Thread: res.Thread})
	if err != nil {
		return failed(fmt.Errorf("the run ended (%s) but its call records cannot be read: %w", res.Status, err), "junction history %s", res.Thread)
	}
	outcome := view.NewOutcome(res, records)
	if r.json {
		if err := view.JSON(r.con.out, outcome); err != nil {
			return err
		}
	} else if err := view.Summary(r.con.out, outcome, view.Style{Color: r.con.color, Resume: r.command("resume", res.Thread), Explain: r.command("explain", res.Thread)}); err != nil {
		return err
	}
	switch {
	case res.Status == state.StatusCompleted:
		return nil
	case res.Status == state.StatusInterrupted:
		return &exitError{code: exitWaiting}
	case res.Status == state.StatusCancelled || res.Drained:
		return &exitError{code: exitCancelled}
	}
	return &exitError{code: exitFailed}
}

// command is one that concerns the thread, with the flag that finds it, ready
// for a shell.
func (r *runner) command(verb, thread string) string {
	cmd := "junction " + verb + " " + view.Quote(thread)
	if r.store != "" {
		cmd += " --store " + view.Quote(r.store)
	}
	return cmd
}
