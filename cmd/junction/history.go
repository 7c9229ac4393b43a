package main

import (
	"context"
	"fmt"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

type historyCmd struct {
	Thread string        `arg:"" optional:"" help:"Only this thread. Default: all."`
	Server string        `placeholder:"NAME" help:"Only calls to this server."`
	Since  time.Duration `placeholder:"D" help:"Only calls of the last D, for example 24h."`
	Limit  int           `default:"0" help:"Only the latest of them, at most this many; 0 for all."`
	storeFlags
}

func (*historyCmd) Help() string {
	return `Shows every call: when, which server and tool, how long, how it ended, which attempt it was.

Examples:
  junction history 0198c5ee
  junction history --server go-deep --since 24h --json`
}

func (c *historyCmd) Run(ctx context.Context, con console) error {
	return c.withStore(ctx, con, func(ctx context.Context, store state.Store) error { return c.on(ctx, store, con) })
}

func (c *historyCmd) on(ctx context.Context, store state.Store, con console) error {
	filter := state.RecordFilter{Server: c.Server}
	if c.Thread != "" {
		t, err := findThread(ctx, store, c.Thread)
		if err != nil {
			return err
		}
		filter.Thread = t.ID
	}
	if c.Since > 0 {
		filter.Since = time.Now().Add(-c.Since)
	}
	records, err := store.Records(ctx, filter)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	calls := view.NewHistory(records)
	if c.Limit > 0 && len(calls) > c.Limit {
		calls = calls[len(calls)-c.Limit:]
	}
	if c.JSON {
		return view.JSON(con.out, calls)
	}
	return view.History(con.out, calls, view.Style{Color: con.color})
}
