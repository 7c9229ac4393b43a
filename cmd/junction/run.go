package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"junction/cmd/junction/internal/cause"
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

Examples:
  junction run examples/codereview/review.yaml --set repo=../service --yes
  junction run review.yaml --store redis://127.0.0.1:6379 --consul http://127.0.0.1:8500 --detach

Exit codes: 0 done, 1 failed, 2 bad usage or file, 3 waiting for an answer, 4 cancelled.`
}

func (c *runCmd) Run(ctx context.Context, con console) error {
	if err := c.check(); err != nil {
		return usage(err)
	}
	wf, err := workflow.Load(c.File)
	if err != nil {
		return usage(err)
	}
	input, err := c.input(wf)
	if err != nil {
		return usage(err)
	}
	meta, err := metaOf(c.File, c.configFlag)
	if err != nil {
		return usage(err)
	}
	progress := view.NewProgress(con.err, con.width)
	defer progress.Close()
	app, err := wire.Open(ctx, wire.Settings{Store: c.Store, Config: c.Config, Consul: c.Consul, Workflow: c.File, Detach: c.Detach, Shared: c.Detach, NeedConfig: len(wf.Uses()) > 0 && !c.Detach, Observer: progress, Probe: probesOfRun(), Log: logger(con), Version: buildVersion})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	if _, err := app.Store.Prune(ctx, retention); err != nil { // old threads are no reason not to run a new one
		fmt.Fprintf(con.err, "junction: old threads could not be deleted: %v\n", err)
	}
	r := runner{app: app, con: con, progress: progress, json: c.JSON, flags: c.runFlags, store: app.Address, consul: c.Consul, thread: c.Thread}
	opt := graph.RunOptions{Thread: c.Thread, Input: input, Definition: wf.Text, Meta: meta}
	if c.Detach {
		return r.queue(ctx, wf, opt)
	}
	return r.run(ctx, wf, opt)
}

// metaOf is what a thread keeps to be resumed from anywhere: absolute paths of
// the workflow file, of the servers file where one was named, the working
// directory, and the address of Consul where one was given.
func metaOf(file string, servers configFlag) (map[string]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	meta := map[string]string{"dir": dir}
	if meta["file"], err = filepath.Abs(file); err != nil {
		return nil, err
	}
	if servers.Consul != "" {
		meta["consul"] = servers.Consul
	}
	if servers.Config != "" {
		meta["config"], err = filepath.Abs(servers.Config)
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
	consul   string // its address, where the command line names it
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
	g, err := graph.Compile(wf.Spec(r.app.Tools()))
	if err != nil {
		return usage(err)
	}
	if r.flags.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.flags.Timeout, fmt.Errorf("--timeout %s is over", r.flags.Timeout))
		defer cancel()
	}
	ctx, on, over := r.app.Spans.Run(ctx, wf.Name, r.progress.Event)
	opt.Store, opt.LeaseTTL, opt.Drain, opt.OnEvent = r.app.Store, r.flags.Lease, drainOf(ctx), on
	res, err := start(ctx, g, opt)
	if r.thread == "" {
		r.thread = res.Thread
	}
	// A run that had not begun is not taken up: a thread of this id may be somebody
	// else's, and whether the answers were stored is for the person to see.
	begun := res.Status != ""
	for range retakes {
		if !begun || !again(err) || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(r.con.err, "junction: %s; taking the thread up again\n", clean(err.Error()))
		// Queued: nobody asked for it anew. Who stopped it meanwhile meant that.
		res, err = g.Resume(ctx, r.thread, graph.RunOptions{Store: opt.Store, LeaseTTL: opt.LeaseTTL, Drain: opt.Drain, OnEvent: opt.OnEvent, WaitBusy: countdown(r.con, r.thread), Queued: true})
	}
	for err == nil && r.flags.Yes && res.Status == state.StatusInterrupted {
		answers := yesTo(res.Interrupts)
		if len(answers) == 0 {
			break
		}
		res, err = g.Resume(ctx, res.Thread, graph.RunOptions{Store: opt.Store, LeaseTTL: opt.LeaseTTL, Drain: opt.Drain, OnEvent: opt.OnEvent, Answers: answers})
	}
	over(res, err)
	r.progress.Close()
	if err != nil {
		return r.startError(err)
	}
	return r.finish(context.WithoutCancel(ctx), res)
}

// retakes is how often a run whose lease was lost is taken up again: a store
// that was away for longer than the lease costs one, and nobody else's work is
// disturbed, for then the thread is busy.
const retakes = 3

// again says whether a run broke off in a way that taking it up again can mend.
func again(err error) bool {
	lost := errors.Is(err, state.ErrLeaseLost) || errors.Is(err, state.ErrUnavailable)
	return lost && !errors.Is(err, state.ErrVanished) && !errors.Is(err, state.ErrRegressed)
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
	if res.Status == state.StatusFailed || res.Status == state.StatusCancelled {
		if outcome.Cause, err = r.cause(ctx, res.Thread); err != nil { // the run's own outcome is what matters
			fmt.Fprintf(r.con.err, "junction: why it failed cannot be read: %s\n", clean(err.Error()))
		}
		if c := outcome.Cause; c != nil && c.Kind == cause.Stopped {
			outcome.Cause = nil // whoever stopped it knows
		}
	}
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

// cause reads why the thread failed, what this process saw of its servers included.
func (r *runner) cause(ctx context.Context, thread string) (*view.Cause, error) {
	ctx, cancel := context.WithTimeout(ctx, causeWithin)
	defer cancel()
	unsaved := r.app.SaveHealth(ctx) // without it, the thread's own records tell
	t, err := r.app.Store.Thread(ctx, thread)
	if err != nil {
		return nil, errors.Join(err, unsaved)
	}
	e, err := cause.Gather(ctx, r.app.Store, t, time.Now())
	if err != nil {
		return nil, errors.Join(err, unsaved)
	}
	return view.NewCause(e), unsaved
}

// causeWithin bounds how long a run that failed is kept for the sake of telling why.
const causeWithin = 5 * time.Second

// command is one that concerns the thread, with the flag that finds it, ready
// for a shell.
func (r *runner) command(verb, thread string) string {
	return "junction " + verb + " " + view.Quote(thread) + r.storeFlag()
}

// storeFlag is the flag that finds the store, behind a space; "" where it is the
// default.
func (r *runner) storeFlag() string {
	if r.store == "" || r.store == wire.Redact(os.Getenv("JUNCTION_STORE")) {
		return "" // it is found again without being named
	}
	return " --store " + view.Quote(r.store)
}
