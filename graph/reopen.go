package graph

import (
	"context"
	"errors"

	"junction/state"
)

// Reopen makes a stopped thread ready for a worker without running it: it stores
// the answers of o, waits for the thread as o.Busy says, and makes it pending.
// It fails as [Graph.Resume] does. A running thread whose worker died stays
// running, which workers take up too.
func (g *Graph) Reopen(ctx context.Context, thread string, o RunOptions) (state.Thread, error) {
	if o.Store == nil {
		return state.Thread{}, errors.New("reopen: no store is set; a run without one keeps nothing that could be resumed")
	}
	o.OnEvent = nil // nothing runs
	r := g.newRun(ctx, o)
	r.id, r.stream.thread = thread, thread
	if _, err := r.supervise(func() ended {
		if err := r.reopen(); err != nil {
			return r.unbegun(err)
		}
		return ended{result: Result{Thread: thread}}
	}); err != nil {
		return state.Thread{}, err
	}
	return o.Store.Reopen(ctx, thread)
}
