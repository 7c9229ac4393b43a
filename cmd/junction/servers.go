package main

import (
	"context"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
)

type serversCmd struct {
	File string        `arg:"" optional:"" help:"Workflow file whose servers file is meant, or the directory of one."`
	Wait time.Duration `default:"60s" help:"Longest wait for a server to answer."`
	JSON bool          `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*serversCmd) Help() string {
	return `Connects to every server of the servers file and shows its version, era, tools and offers,
or why it cannot be reached.

Examples:
  junction servers examples/codereview/review.yaml
  junction servers --config junction.yaml --json`
}

func (c *serversCmd) Run(ctx context.Context, con console) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, Workflow: c.File, NeedConfig: true, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	wait, stop := context.WithTimeout(ctx, c.Wait)
	defer stop()
	list := view.NewServers(app.Router.Servers(wait))
	if c.JSON {
		return view.JSON(con.out, list)
	}
	return view.Servers(con.out, list, view.Style{Color: con.color})
}
