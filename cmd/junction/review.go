package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/review"
)

type reviewCmd struct {
	Server string        `arg:"" help:"The server's name in the servers file, or in Consul its id, or the service: the first instance then."`
	File   string        `arg:"" optional:"" help:"Workflow file whose servers file is meant, or the directory of one."`
	Idle   time.Duration `placeholder:"D" help:"Idle clock that your calls set, as timeout.idle in a workflow. Default: the router's."`
	Max    time.Duration `placeholder:"D" help:"Maximum clock that your calls set, as timeout.max. Default: the router's."`
	Wait   time.Duration `default:"60s" help:"Longest wait for the server to answer."`
	JSON   bool          `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*reviewCmd) Help() string {
	return `Connects to a server, calls nothing, and prints what to know before it is trusted with effects:
what is risky, each with lines for the servers file; every tool with its effect and who said so, its
key and ledger; what follows each failure; who wins when a cancel meets an answer; clocks, queues and
bounds; how a lost connection is recovered from. Where the server cannot be reached the exit code is
1, and the review is of what the servers file says.

Examples:
  junction review press examples/codereview/review.yaml
  junction review billing --config junction.yaml --idle 10s --max 2m
  junction review billing --json`
}

func (c *reviewCmd) Run(ctx context.Context, con console) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	if c.Idle < 0 || c.Max < 0 {
		return usage(errors.New("--idle and --max: a length of time such as 10s"))
	}
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, Workflow: c.File, NeedConfig: true, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	wait, stop := context.WithTimeout(ctx, c.Wait)
	defer stop()
	in, err := app.Router.Inspect(wait, c.Server)
	if unknown, ok := errors.AsType[*router.UnknownServerError](err); ok {
		return &exitError{code: exitUsage, err: unknown, next: "junction servers"}
	}
	if err != nil {
		return err
	}
	rv := view.NewReview(review.New(in, review.Settings{
		Client: app.Bounds(), Strays: app.Strays(in.Server.ID), Idle: c.Idle, Max: c.Max, InFile: app.Declares(in.Server.Name),
	}))
	if c.JSON {
		err = view.JSON(con.out, rv)
	} else {
		err = view.Review(con.out, rv, view.Style{Color: con.color})
	}
	if err != nil || in.Err == nil {
		return err
	}
	// The review is the one document of --json, so that this is no second one.
	fmt.Fprintf(con.err, "junction: server %s could not be reached: %s\n", clean(in.Server.ID), clean(in.Err.Error()))
	return &exitError{code: exitFailed}
}
