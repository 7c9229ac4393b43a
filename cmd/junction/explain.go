package main

import (
	"context"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/state"
)

type explainCmd struct {
	Thread string `arg:"" help:"The thread's id, or its unambiguous beginning."`
	Node   string `placeholder:"NAME" help:"Only the hops of this node."`
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
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	store, err := wire.OpenExisting(ctx, c.Store)
	if err != nil {
		return wireError(err)
	}
	defer closeStore(store, con)
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
	if c.JSON {
		return view.JSON(con.out, explained)
	}
	return explained.Print(con.out, view.Style{Color: con.color})
}
