package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"junction/state"
)

// Resume goes on with a thread where it stopped, or begins one that was created
// only. The answers of its options are stored first, all or none. An unknown
// thread is state.ErrNotFound, a completed one ErrFinished, also when it was
// completed while the resume waited, one of another graph or version ErrMismatch;
// RunOptions.Busy says what happens when another worker runs it. A thread all of
// whose unfinished tasks still wait for answers is left as it is, interrupted.
//
// With RunOptions.Queued the resume is nobody's wish. A thread that failed or was
// cancelled, or none of whose questions was answered, is ErrStopped and left as it
// is. One whose cancellation its last holder did not live to heed ends as
// cancelled, and nothing runs. Static interrupts are passed only where they were
// answered ([Answer]), or where the thread is pending: somebody reopened it.
func (g *Graph) Resume(ctx context.Context, thread string, o RunOptions) (Result, error) {
	res := Result{Thread: thread}
	switch {
	case o.Store == nil:
		return res, errors.New("resume: no store is set; a run without one keeps nothing that could be resumed")
	case o.Thread != "" && o.Thread != thread:
		return res, fmt.Errorf("resume of thread %s: the options name thread %s", thread, o.Thread)
	case len(o.Input) > 0:
		return res, errors.New("resume: a thread has its input already; answers go into Answers")
	case o.Queued && len(o.Answers) > 0:
		return res, fmt.Errorf("resume of queued thread %s: answers are stored before a thread is queued, see graph.Answer", thread)
	}
	if err := o.Busy.check(); err != nil {
		return res, fmt.Errorf("resume of thread %s: %w", thread, err)
	}
	r := g.newRun(ctx, o)
	r.id, r.stream.thread = thread, thread
	return r.supervise(func() ended {
		if _, err := r.reopen(); err != nil {
			return r.unbegun(err)
		}
		if o.Queued && r.lease.cancelled {
			return r.stop(state.StatusCancelled, ErrCancelRequested)
		}
		return r.loop()
	})
}

// reopen checks the thread, stores the answers, takes the lease and loads the
// head as it is then. It returns the thread as it stands under the lease.
func (r *run) reopen() (state.Thread, error) {
	t, err := r.store.Thread(r.ctx, r.id)
	if err != nil {
		return t, err
	}
	if err := r.g.fits(t); err != nil {
		return t, err
	}
	switch {
	case r.opt.Queued && (t.Status == state.StatusFailed || t.Status == state.StatusCancelled):
		return t, fmt.Errorf("thread %s is %s: %w", r.id, t.Status, ErrStopped)
	case !r.opt.Queued:
		if err := storeAnswers(r.ctx, r.store, r.id, r.opt.Answers); err != nil {
			return t, err
		}
	}
	if err := r.takeLease(r.ctx); err != nil {
		return t, err
	}
	// Somebody else may have worked on it until the lease was free.
	if t, err = r.store.Thread(r.ctx, r.id); err != nil {
		return t, err
	}
	if err := r.g.fits(t); err != nil {
		return t, err
	}
	if r.opt.Queued && t.Status == state.StatusPending {
		if err := storeAnswers(r.ctx, r.store, r.id, nil); err != nil {
			return t, err
		}
	}
	snap, err := r.store.Load(r.ctx, r.id, 0)
	if err != nil {
		return t, err
	}
	if r.opt.Queued && !r.wanted(t, snap) {
		return t, fmt.Errorf("thread %s is %s: %w", r.id, t.Status, ErrStopped)
	}
	return t, r.restore(snap)
}

// wanted reports whether there is something to be done about a thread that a
// queue named. One that waits is to go on once anything was answered: whoever
// answered may have come too late to be seen by the run that stopped, and too
// early to reopen the thread. Its cancellation needs no answer.
func (r *run) wanted(t state.Thread, snap state.Snapshot) bool {
	if t.Status != state.StatusInterrupted {
		return !t.Status.Stopped()
	}
	if r.lease.cancelled {
		return true
	}
	return slices.ContainsFunc(snap.Interrupts, func(i state.Interrupt) bool { return i.Answer != nil && !i.Live })
}

// fits refuses threads that are not this graph's to go on with.
func (g *Graph) fits(t state.Thread) error {
	switch {
	case t.Workflow != g.spec.Name:
		return fmt.Errorf("thread %s: %w: it was started by %q, this is %q", t.ID, ErrMismatch, t.Workflow, g.spec.Name)
	case t.Version != g.spec.Version:
		return fmt.Errorf("thread %s: %w: it was started by version %q of %q, this is version %q", t.ID, ErrMismatch, t.Version, t.Workflow, g.spec.Version)
	case t.Status == state.StatusCompleted:
		return fmt.Errorf("thread %s: %w", t.ID, ErrFinished)
	}
	return nil
}

// restore takes over a loaded checkpoint.
func (r *run) restore(snap state.Snapshot) error {
	r.lineage, r.seq, r.step, r.arrived = snap.Lineage, snap.Seq, snap.Step, snap.Arrived
	cells := append([]cell(nil), r.g.initial...)
	for i := range cells {
		ch := &r.g.spec.Channels[i]
		var err error
		if ch.Append {
			if items, ok := snap.Logs[ch.Name]; ok {
				cells[i].value, err = ch.log(items)
				cells[i].ok = true
			}
		} else if raw, ok := snap.Values[ch.Name]; ok {
			cells[i].value, err = decode(ch.Type, raw)
			cells[i].ok = true
		}
		if err != nil {
			return fmt.Errorf("thread %s, checkpoint %d: channel %q: %w", r.id, snap.Seq, ch.Name, err)
		}
	}
	r.view = &view{g: r.g, cells: cells}
	for _, t := range snap.Next {
		n, ok := r.g.names[t.Node]
		if !ok {
			return fmt.Errorf("thread %s would go on at node %q, which does not exist: %w", r.id, t.Node, ErrMismatch)
		}
		p := planned{Task: t, node: n}
		if t.Item != nil {
			var err error
			if p.item, err = decode(r.g.nodes[n].Item, t.Item); err != nil {
				return fmt.Errorf("thread %s: item %d of node %q: %w", r.id, t.Index, t.Node, err)
			}
		}
		r.tasks = append(r.tasks, p)
	}
	r.pending = &snap
	return nil
}
