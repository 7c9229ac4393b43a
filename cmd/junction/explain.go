package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"junction/cmd/junction/internal/cause"
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
rejected and why, and what was drawn; and for a failed run, the last failing call, how that server
fared in the ten minutes before, the likely cause and what to do. Of a run that does not go on it
checks: a loop that changes nothing, an expired session or clocks that differ, stale discovery, a
checkpoint that does not come, a state that is too large.

Examples:
  junction explain 0198c5ee
  junction explain 0198c5ee --node review --json`
}

func (c *explainCmd) Run(ctx context.Context, con console) error {
	return c.withStore(ctx, con, func(ctx context.Context, store state.Store) error { return c.on(ctx, store, con) })
}

func (c *explainCmd) on(ctx context.Context, store state.Store, con console) error {
	t, err := findThread(ctx, store, c.Thread)
	if err != nil {
		return err
	}
	evidence, err := cause.Gather(ctx, store, t, time.Now())
	if err != nil {
		return err
	}
	explained, err := view.Explain(evidence, c.Node)
	if err != nil {
		return err
	}
	if c.Node != "" && len(explained.Hops) == 0 {
		return usage(fmt.Errorf("node %q made no hop in thread %s; those that did: %s", c.Node, t.ID, orWord(strings.Join(nodesOf(evidence.Records), ", "), "none")))
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
