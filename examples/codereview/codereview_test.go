package codereview_test

import (
	"slices"
	"testing"

	"junction/graph/workflow"
	"junction/router/static"
	"junction/state"
)

func TestTheWorkflowAndItsServersFit(t *testing.T) {
	w, err := workflow.Load("review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := static.Load("junction.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range w.Uses() {
		offered := false
		for _, s := range c.Servers {
			for _, o := range s.Offers {
				offered = offered || o.Capability == use.Capability
			}
		}
		if !offered {
			t.Errorf("node %s: no server offers %q", use.Node, use.Capability)
		}
		if _, ok := c.Contracts[use.Capability]; !ok {
			t.Errorf("node %s: nothing holds %q to a contract", use.Node, use.Capability)
		}
	}
	for _, s := range c.Servers {
		for _, o := range s.Offers {
			if want := effect(o.Capability); o.Effect != want {
				t.Errorf("%s offers %s as %s, want %s", s.ID, o.Capability, o.Effect, want)
			}
		}
	}
}

func effect(capability string) state.Effect {
	if capability == "publish" {
		return state.Conditional
	}
	return state.Safe
}

func TestEveryServerIsOneThatJunctionServesItself(t *testing.T) {
	c, err := static.Load("junction.yaml", &static.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	goReviewers := 0
	for _, s := range c.Servers {
		if s.Dial.Command != "junction" || s.Dial.Args[0] != "example-server" {
			t.Errorf("%s runs %s %v", s.ID, s.Dial.Command, s.Dial.Args)
		}
		for _, o := range s.Offers {
			if slices.Contains(o.Attributes["language"], "go") {
				goReviewers++
			}
		}
	}
	if goReviewers != 2 {
		t.Errorf("%d Go reviewers, want two, so that one can take over", goReviewers)
	}
}
