package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

type explainCmd struct {
	Thread string `arg:"" help:"The thread's id, or its unambiguous beginning."`
	Node   string `placeholder:"NAME" help:"Only the hops of this node."`
	Limit  int    `default:"50" help:"Print at most this many hops, those that did not succeed first; 0 for all. --json has all."`
	storeFlags
}

func (*explainCmd) Help() string {
	return `Says for each hop which servers were candidates, with what score and weight, which were
rejected and why, and what was drawn; and for a failed run, the last failing call, the likely
cause and what to do.

Example:
  junction explain 0198c5ee --node review`
}

func (c *explainCmd) Run(ctx context.Context, con console) error {
	return c.withStore(ctx, con, func(ctx context.Context, store state.Store) error { return c.on(ctx, store, con) })
}

func (c *explainCmd) on(ctx context.Context, store state.Store, con console) error {
	t, err := findThread(ctx, store, c.Thread)
	if err != nil {
		return err
	}
	records, err := store.Records(ctx, state.RecordFilter{Thread: t.ID})
	if err != nil {
		return err
	}
	explained, err := view.Explain(t, records, c.Node)
	if err != nil {
		return err
	}
	if c.Node != "" && len(explained.Hops) == 0 {
		return usage(fmt.Errorf("node %q made no hop in thread %s; those that did: %s", c.Node, t.ID, orWord(strings.Join(nodesOf(records), ", "), "none")))
	}
	if c.JSON {
		return view.JSON(con.out, explained)
	}
	return explained.Print(con.out, c.Limit, view.Style{Color: con.color})
}

// nodesOf names the nodes that made calls, sorted.
func nodesOf(records []state.Record) []string {
	var nodes []string
	for _, r := range records {
		nodes = append(nodes, r.Node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
