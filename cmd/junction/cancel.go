package main

import (
	"context"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

type cancelCmd struct {
	Thread string `arg:"" help:"The thread's id, or its unambiguous beginning."`
	storeFlags
}

func (*cancelCmd) Help() string {
	return `Asks the process that runs the thread to stop at once. A thread that nobody runs is marked
cancelled; it can still be resumed.

Example:
  junction cancel 0198c5ee`
}

func (c *cancelCmd) Run(ctx context.Context, con console) error {
	return c.withStore(ctx, con, func(ctx context.Context, store state.Store) error { return c.on(ctx, store, con) })
}

func (c *cancelCmd) on(ctx context.Context, store state.Store, con console) error {
	t, err := findThread(ctx, store, c.Thread)
	if err != nil {
		return err
	}
	if t.Status == state.StatusCompleted {
		return failed(fmt.Errorf("thread %s is completed: there is nothing to cancel", t.ID), "junction history %s", t.ID)
	}
	if err := store.RequestCancel(ctx, t.ID); err != nil {
		return fmt.Errorf("cancel thread %s: %w", t.ID, err)
	}
	after, err := store.Thread(ctx, t.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return view.JSON(con.out, after)
	}
	word := "asked to stop; whoever runs it ends it within a second, or, should that have died, the worker that takes it over"
	if after.Status == state.StatusCancelled {
		word = "cancelled"
	}
	_, err = fmt.Fprintf(con.out, "thread %s: %s\n", t.ID, word)
	return err
}
