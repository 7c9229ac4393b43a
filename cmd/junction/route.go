package main

import (
	"context"
	"errors"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/state"
)

type routeCmd struct {
	File       string        `arg:"" optional:"" help:"Workflow file whose servers file is meant, or the directory of one."`
	Capability string        `required:"" placeholder:"NAME" help:"Capability asked for, for example code-review."`
	Need       []string      `sep:"none" placeholder:"KEY=VALUE" help:"Attribute that must match (repeatable)."`
	Prefer     []string      `sep:"none" placeholder:"KEY=VALUE" help:"Attribute that raises the score (repeatable)."`
	Wait       time.Duration `default:"60s" help:"Longest wait for the servers to answer."`
	JSON       bool          `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*routeCmd) Help() string {
	return `Decides without calling: the candidates with their scores and weights, the rejected servers
with their reasons, and the pick.

Example:
  junction route examples/codereview/review.yaml --capability code-review --need language=go`
}

func (c *routeCmd) Run(ctx context.Context, con console) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	need, err := parsePairs("need", c.Need)
	prefer, err2 := parsePairs("prefer", c.Prefer)
	if err := errors.Join(err, err2); err != nil {
		return usage(err)
	}
	app, err := wire.Open(ctx, wire.Settings{Store: "memory:", Config: c.Config, Consul: c.Consul, Workflow: c.File, NeedConfig: true, Log: logger(con)})
	if err != nil {
		return wireError(err)
	}
	defer closeApp(app, con)
	wait, stop := context.WithTimeout(ctx, c.Wait)
	defer stop()
	decision, err := app.Router.Route(wait, state.Call{Capability: c.Capability, Need: need, Prefer: prefer})
	var none *router.NoCandidateError
	if err != nil && !errors.As(err, &none) {
		return err
	}
	if c.JSON {
		if err := view.JSON(con.out, decision); err != nil {
			return err
		}
	} else if err := view.Decision(con.out, decision, view.Style{Color: con.color}); err != nil {
		return err
	}
	if none != nil {
		return &exitError{code: exitFailed}
	}
	return nil
}
