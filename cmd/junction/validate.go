package main

import (
	"context"
	"errors"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/workflow"
)

type validateCmd struct {
	File string `arg:"" help:"Workflow file (YAML)."`
	JSON bool   `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*validateCmd) Help() string {
	return `Reports every fault of the workflow file and of its servers file at once, each with line,
column and a suggestion. Nothing is started.

Example:
  junction validate examples/codereview/review.yaml`
}

func (c *validateCmd) Run(ctx context.Context, con console) error {
	wf, err := workflow.Load(c.File)
	if err == nil {
		_, err = graph.Compile(wf.Spec(nil))
	}
	config, configErr := wire.LoadConfig(c.Config, c.File, "")
	all := errors.Join(err, configErr)
	if c.JSON {
		if err := view.JSON(con.out, view.NewValidation(c.File, all)); err != nil {
			return err
		}
		if all != nil {
			return &exitError{code: exitUsage}
		}
		return nil
	}
	if all != nil {
		return usage(all)
	}
	servers := "no servers file found"
	if config != nil {
		servers = fmt.Sprintf("%d servers in %s", len(config.Servers), config.Path)
	}
	_, err = fmt.Fprintf(con.out, "%s: workflow %s is valid (%s)\n", c.File, wf.Name, servers)
	return err
}
