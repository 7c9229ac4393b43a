package main

import (
	"context"
	"errors"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/graph/workflow"
	"junction/state/document"
)

type validateCmd struct {
	File string `arg:"" help:"Workflow file (YAML)."`
	JSON bool   `name:"json" help:"Print one JSON document on stdout and nothing else there."`
	configFlag
}

func (*validateCmd) Help() string {
	return `Reports every fault of the workflow file and of its servers file at once, each with line,
column and a suggestion, and warns of what no server is declared to offer. Nothing is started, and
Consul is not asked.

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
	var warnings []document.Fault
	if all == nil {
		warnings = unmet(wf, config, c.Consul != "")
	}
	if c.JSON {
		if err := view.JSON(con.out, view.NewValidation(c.File, all, warnings)); err != nil {
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
	for _, w := range warnings {
		fmt.Fprintf(con.err, "junction: warning: %s\n", clean(w.Error()))
	}
	servers := "no servers file found"
	if config != nil {
		servers = fmt.Sprintf("%s in %s", view.Count(len(config.Servers), "server"), config.Path)
	}
	switch {
	case config != nil && config.Consul != nil:
		servers += fmt.Sprintf(", %s of Consul declared there", view.Count(len(config.Consul.Services), "service"))
	case c.Consul != "":
		servers += ", others in Consul"
	}
	_, err = fmt.Fprintf(con.out, "%s: workflow %s is valid (%s)\n", c.File, wf.Name, servers)
	return err
}
