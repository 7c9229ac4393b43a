package main

import (
	"context"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/graph"
	"junction/graph/worker"
	"junction/graph/workflow"
	"junction/state"
)

// queue makes a new thread and leaves it to the workers.
func (r *runner) queue(ctx context.Context, wf *workflow.Workflow, opt graph.RunOptions) error {
	return r.leave(ctx, wf, opt.Thread, func(ctx context.Context, g *graph.Graph, thread string) (state.Thread, error) {
		opt.Store, opt.Thread = r.app.Store, thread
		if _, err := g.Create(ctx, opt); err != nil {
			return state.Thread{}, err
		}
		return r.app.Store.Thread(ctx, thread)
	})
}

// requeue stores the answers and leaves a thread that exists to the workers.
func (r *runner) requeue(ctx context.Context, wf *workflow.Workflow, thread string, opt graph.RunOptions) error {
	return r.leave(ctx, wf, thread, func(ctx context.Context, g *graph.Graph, thread string) (state.Thread, error) {
		opt.Store = r.app.Store
		return g.Reopen(ctx, thread, opt)
	})
}

// leave has ready make a thread ready to run, and queues it in such an order that
// a crash in between leaves no thread that no worker knows of.
func (r *runner) leave(ctx context.Context, wf *workflow.Workflow, thread string, ready func(context.Context, *graph.Graph, string) (state.Thread, error)) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	queue, err := r.app.Queue()
	if err != nil {
		return usage(err)
	}
	g, err := graph.Compile(wf.Spec(r.app.Tools()))
	if err != nil {
		return usage(err)
	}
	if thread == "" {
		if thread, err = graph.NewThreadID(); err != nil {
			return err
		}
	}
	r.thread = thread
	var t state.Thread
	err = worker.Enqueue(ctx, queue, thread, func(ctx context.Context) (err error) {
		t, err = ready(ctx, g, thread)
		return err
	})
	r.progress.Close()
	if err != nil {
		return r.startError(err)
	}
	if r.json {
		return view.JSON(r.con.out, map[string]any{"thread": thread, "status": t.Status})
	}
	_, err = fmt.Fprintf(r.con.out, "queued: thread %s\n  follow: junction threads --watch%s\n  stop:   %s\n  a worker takes it up: junction serve%s%s\n",
		thread, r.storeFlag(), r.command("cancel", thread), r.storeFlag(), r.serversFlags())
	return err
}

// serversFlags are those that let a worker on this machine find the servers that
// the thread was meant for, each behind a space.
func (r *runner) serversFlags() string {
	flags := ""
	if r.app.ConfigPath != "" {
		flags += " --config " + view.Quote(r.app.ConfigPath)
	}
	if r.consul != "" {
		flags += " --consul " + view.Quote(r.consul)
	}
	return flags
}
