package graph

import (
	"context"
	"errors"

	"junction/state"
)

// Reopen makes a stopped thread ready for a worker without running it: it stores
// the answers of o, waits for the thread as o.Busy says, and makes it pending.
// It fails as [Graph.Resume] does. A running thread whose worker died stays
// running, which workers take up too. Earlier requests to stop are dealt with; one
// that comes meanwhile leaves the thread cancelled.
func (g *Graph) Reopen(ctx context.Context, thread string, o RunOptions) (state.Thread, error) {
	if o.Store == nil {
		return state.Thread{}, errors.New("reopen: no store is set; a run without one keeps nothing that could be resumed")
	}
	o.OnEvent = nil // nothing runs
	r := g.newRun(ctx, o)
	r.id, r.stream.thread = thread, thread
	if _, err := r.supervise(func() ended {
		t, err := r.reopen()
		if err != nil {
			return r.unbegun(err)
		}
		if t.Status.Stopped() {
			t.Status = state.StatusPending
		}
		if err := r.setStatus(t.Status, nil, nil); err != nil {
			return r.unbegun(err)
		}
		return ended{result: Result{Thread: thread}}
	}); err != nil {
		return state.Thread{}, err
	}
	return o.Store.Thread(ctx, thread)
}
