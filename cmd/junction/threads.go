package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

type threadsCmd struct {
	Status   string `enum:",pending,running,interrupted,completed,failed,cancelled" default:"" placeholder:"STATUS" help:"Only threads of this status: pending, running, interrupted, completed, failed or cancelled."`
	Workflow string `placeholder:"NAME" help:"Only threads of this workflow."`
	Limit    int    `default:"50" help:"At most this many; 0 for all."`
	Delete   string `placeholder:"ID" help:"Delete this thread and everything it stored."`
	Watch    bool   `help:"Follow them until Ctrl-C: the list redrawn on a terminal, a line for each change elsewhere."`
	Prune    bool   `help:"Delete completed threads older than 7 days and stopped ones older than 30."`
	storeFlags
}

func (*threadsCmd) Help() string {
	return `Lists threads, newest first, with the questions that wait for an answer. Each new run deletes
completed threads after 7 days and failed, cancelled or waiting ones after 30; --prune does so now.

Examples:
  junction threads --status interrupted
  junction threads --watch
  junction threads --delete 0198c5ee`
}

// retention is what --prune and every new run keep.
var retention = state.Retention{Completed: 7 * 24 * time.Hour, Stopped: 30 * 24 * time.Hour}

func (c *threadsCmd) Run(ctx context.Context, con console) error {
	return c.withStore(ctx, con, func(ctx context.Context, store state.Store) error { return c.on(ctx, store, con) })
}

func (c *threadsCmd) on(ctx context.Context, store state.Store, con console) error {
	switch {
	case c.Delete != "":
		return c.delete(ctx, store, con)
	case c.Prune:
		n, err := store.Prune(ctx, retention)
		if err != nil {
			return err
		}
		if c.JSON {
			return view.JSON(con.out, map[string]any{"deleted": n})
		}
		_, err = fmt.Fprintf(con.out, "%s deleted\n", view.Count(n, "thread"))
		return err
	}
	if c.Watch {
		return c.watch(ctx, store, con)
	}
	threads, err := store.Threads(ctx, c.filter())
	if err != nil {
		return err
	}
	listed, err := view.ListThreads(ctx, store, threads, nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return view.JSON(con.out, listed)
	}
	return view.Threads(con.out, listed, view.Style{Color: con.color})
}

func (c *threadsCmd) filter() state.ThreadFilter {
	return state.ThreadFilter{Status: state.Status(c.Status), Workflow: c.Workflow, Limit: c.Limit}
}

func (c *threadsCmd) delete(ctx context.Context, store state.Store, con console) error {
	t, err := findThread(ctx, store, c.Delete)
	if err != nil {
		return err
	}
	if err := store.DeleteThread(ctx, t.ID); err != nil {
		return fmt.Errorf("delete thread %s: %w", t.ID, err)
	}
	if c.JSON {
		return view.JSON(con.out, map[string]any{"deleted": 1})
	}
	_, err = fmt.Fprintf(con.out, "thread %s deleted\n", t.ID)
	return err
}

// findThread returns the thread of that id, or the only one that begins so.
func findThread(ctx context.Context, store state.Store, id string) (state.Thread, error) {
	t, err := store.Thread(ctx, id)
	if err == nil || !isNotFound(err) {
		return t, err
	}
	all, err := store.Threads(ctx, state.ThreadFilter{})
	if err != nil {
		return state.Thread{}, err
	}
	var found []state.Thread
	for _, t := range all {
		if strings.HasPrefix(t.ID, id) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return state.Thread{}, failed(fmt.Errorf("no thread %q in this store", id), "junction threads, or --store ADDRESS if it is kept elsewhere")
	}
	return state.Thread{}, failed(fmt.Errorf("%d threads begin with %q", len(found), id), "give more of the id; junction threads lists them")
}
