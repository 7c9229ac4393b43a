package workflow

import (
	"context"

	"junction/state"
)

// Tools makes a workflow's hops. The router satisfies it.
type Tools interface {
	// Do makes one hop under the journal ctx carries, or only decides when
	// c.RouteOnly is set.
	Do(ctx context.Context, c state.Call) (state.Answer, error)
}
