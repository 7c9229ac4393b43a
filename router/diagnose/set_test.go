package diagnose_test

import (
	"context"
	"testing"
	"time"

	"junction/router"
	"junction/router/diagnose"
)

func TestInstancesOfAServiceAreHeldAgainstEachOther(t *testing.T) {
	t.Parallel()
	instance := func(id, tools string) *router.Server {
		s := at(serve(t, &scripted{tools: func() string { return tools }}))
		s.ID = id
		return s
	}
	down := at("http://" + closed(t) + "/mcp")
	down.ID = "d"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all := diagnose.Servers(ctx, []*router.Server{
		instance("a", `[{"name":"review","inputSchema":{"type":"object","required":["code"]}}]`),
		instance("b", oneTool), instance("c", oneTool), down,
	}, nil)
	blames(t, all[0], diagnose.ContextHash, "unlike b", "tool review has another inputSchema")
	for i, want := range []int{diagnose.ContextHash, 0, 0, diagnose.Network} {
		if all[i].Failed != want {
			t.Errorf("instance %d: layer %d, want %d", i, all[i].Failed, want)
		}
	}
}
