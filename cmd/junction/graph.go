package main

import (
	"context"
	"fmt"

	"junction/cmd/junction/internal/view"
	"junction/graph"
	"junction/graph/workflow"
)

type graphCmd struct {
	File string `arg:"" help:"Workflow file (YAML)."`
	JSON bool   `name:"json" help:"Print one JSON document on stdout and nothing else there."`
}

func (*graphCmd) Help() string {
	return `Prints a mermaid flowchart, which many viewers of Markdown draw.

Example:
  junction graph examples/codereview/review.yaml`
}

func (c *graphCmd) Run(ctx context.Context, con console) error {
	wf, err := workflow.Load(c.File)
	if err != nil {
		return usage(err)
	}
	g, err := graph.Compile(wf.Spec(nil))
	if err != nil {
		return usage(err)
	}
	if c.JSON {
		return view.JSON(con.out, map[string]any{"workflow": wf.Name, "mermaid": g.Mermaid()})
	}
	_, err = fmt.Fprint(con.out, g.Mermaid())
	return err
}
