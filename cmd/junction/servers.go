package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
)

type serversCmd struct {
	File string        `arg:"" optional:"" help:"Workflow file whose servers file is meant, or the directory of one."`
	Only []string      `arg:"" optional:"" name:"server" help:"With --approve: the servers meant, else every pinned one."`
	Wait time.Duration `default:"60s" help:"Longest wait for a server to answer."`
	JSON bool          `name:"json" help:"Print one JSON document on stdout and nothing else there."`

	Schemas bool `help:"With --json: the schemas of the tools too, as the servers wrote them."`
	Approve bool `help:"Show how the tools of pinned servers differ from what was approved; ask, and approve them as they are."`
	Yes     bool `help:"With --approve: do not ask."`
	configFlag
}

func (*serversCmd) Help() string {
	return `Connects to every server of the servers file and of Consul and shows its version, era, tools
and offers, or why it cannot be reached. Each offer is probed once: its tool is called with the
probe that the servers file declares for it, else the server is pinged. Of services in Consul, instances whose check is critical
are not listed. Where Consul cannot be read the exit code is 1: servers may be missing then.

A server with approval: pinned in the servers file has its tools held back until they are
approved, and again when the description, schemas or annotations of one change. What was
approved is kept beside the servers file, in junction.lock.json; put it under version control.
With --json nothing is asked: what differs is printed, and approved with --yes. Where something
differs and is not approved the exit code is 1.

Examples:
  junction servers examples/codereview/review.yaml
  junction servers --config junction.yaml --json --schemas
  junction servers --consul http://127.0.0.1:8500
  junction servers --config junction.yaml --approve eslint`
}

func (c *serversCmd) Run(ctx context.Context, con console) error {
	if c.Schemas && !c.JSON {
		return usage(errors.New("--schemas needs --json"))
	}
	if c.Approve {
		c.named()
	} else if len(c.Only) > 0 || c.Yes {
		return usage(errors.New("names of servers, and --yes, need --approve"))
	}
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, Workflow: c.File, NeedConfig: true, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	wait, stop := context.WithTimeout(ctx, c.Wait)
	defer stop()
	if c.Approve {
		if app.ConfigPath == "" {
			return usage(errors.New("what is approved is kept beside a servers file, and there is none: name one with --config"))
		}
		return c.approve(wait, con, app)
	}
	statuses := app.Router.Servers(wait)
	doubt := app.Doubt()
	list := view.NewServers(statuses, doubt != nil)
	app.Router.Probe(wait)
	view.AddHealth(list, app.Router.Health())
	if c.Schemas {
		view.AddSchemas(list, statuses)
	}
	if c.JSON {
		err = view.JSON(con.out, list)
	} else {
		err = view.Servers(con.out, list, whenNone(app), view.Style{Color: con.color})
	}
	if err != nil || doubt == nil {
		return err
	}
	// The list is the one document of --json, so that this is no second one.
	fmt.Fprintf(con.err, "junction: servers may be missing here: %v\n", doubt)
	return &exitError{code: exitFailed}
}

// whenNone says what to do where no server is known.
func whenNone(app *wire.App) string {
	const file = "add some under mcpServers in the servers file"
	switch {
	case !app.AsksConsul():
		return file
	case app.Doubt() != nil:
		return "Consul could not be read, and the servers file names none"
	}
	return file + ", or register one in Consul with its tag; one whose check is critical does not count"
}
