package graph

import (
	"context"
	"errors"

	"junction/state"
)

// loop runs supersteps until the thread is completed or stops.
func (r *run) loop() ended {
	if r.store != nil {
		if err := r.begin(); err != nil {
			return r.broken(err)
		}
		// Only now: a request from before this resume has been cleared.
		r.wait.Go(r.watchCancel)
	}
	if r.opt.Drain != nil {
		r.wait.Go(r.watchDrain)
	}
	for len(r.tasks) > 0 {
		switch {
		case r.ctx.Err() != nil:
			return r.cancelled()
		case r.drainRequested():
			return r.drained()
		case r.step >= r.g.limit:
			return r.stop(state.StatusFailed, &RecursionError{Limit: r.g.limit, Nodes: nodeNames(r.tasks)})
		}
		s, err := r.round()
		if err != nil {
			return r.broken(err)
		}
		if e, stop := r.assess(s); stop {
			return e
		}
		if e, stop := r.advance(s); stop {
			return e
		}
	}
	return r.completed()
}

// assess decides whether the superstep is committed or the run stops.
func (r *run) assess(s *superstep) (ended, bool) {
	var holds, cuts bool
	for i := range s.tasks {
		switch s.tasks[i].ending {
		case waiting:
			holds = true
		case cut, ignored:
			cuts = true
		}
	}
	switch {
	case s.broken != nil:
		return r.brokenOff(s), true
	case s.failed != nil:
		return r.stop(state.StatusFailed, s.failed.err), true
	case r.ctx.Err() != nil:
		return r.cancelled(), true
	case cuts:
		return r.drained(), true
	case holds:
		return r.interrupted(s, false), true
	}
	paused, err := r.pausedAfter(s)
	switch {
	case err != nil:
		return r.broken(err), true
	case paused:
		return r.interrupted(s, true), true
	}
	return ended{}, false
}

// advance folds the writes, plans what is next and commits both.
func (r *run) advance(s *superstep) (ended, bool) {
	f, err := r.fold(s.tasks)
	var next []planned
	var v *view
	if err == nil {
		v = r.view
		if len(f.cells) > 0 && (len(v.cells) == 0 || &f.cells[0] != &v.cells[0]) {
			v = &view{g: r.g, cells: f.cells}
		}
		next, err = r.plan(s, v)
	}
	switch {
	case errors.Is(err, errAbandoned):
		return ended{err: err}, true
	case err != nil && r.ctx.Err() != nil:
		return r.cancelled(), true
	case err != nil:
		return r.stop(state.StatusFailed, err), true
	}
	if r.store != nil {
		if err := r.commitStep(s, f, next); err != nil {
			return r.broken(err), true
		}
	}
	r.current.Store(nil)
	r.view, r.tasks, r.arrived, r.pending = v, next, r.planner.arrived, nil
	r.mu.Lock()
	r.questions = nil
	r.mu.Unlock()
	r.seq++
	r.step++
	if r.stream.on != nil {
		r.stream.send(Event{Kind: EventCheckpoint, Step: r.step, Seq: r.seq, Value: v.values()})
	}
	return ended{}, false
}

func (r *run) plan(s *superstep, v *view) ([]planned, error) {
	r.planner.begin(r, v, r.arrived)
	if err := r.planner.after(s.tasks); err != nil {
		return nil, err
	}
	return r.planner.tasks(r.seq + 1)
}

func (r *run) commitStep(s *superstep, f *folding, next []planned) error {
	c := state.Commit{
		Parent: r.seq, Step: r.step + 1, Next: stateTasks(next), Arrived: r.planner.arrived,
		Set: f.set, Append: f.app, Records: s.waitingRecords(), Status: state.StatusRunning,
	}
	if len(next) == 0 {
		c.Status = state.StatusCompleted
	}
	return r.commit(c)
}

// completed ends a run that has nothing more to do. A thread that never had
// anything to do is completed by a commit of its own.
func (r *run) completed() ended {
	if r.store != nil && r.step == 0 {
		if err := r.commit(state.Commit{Parent: r.seq, Step: 0, Status: state.StatusCompleted}); err != nil {
			return r.broken(err)
		}
		r.seq++
	}
	return ended{result: r.result(state.StatusCompleted)}
}

// broken ends a run that could not go on, or whose end could not be recorded.
func (r *run) broken(err error) ended { return ended{r.result(state.StatusRunning), err} }

// brokenOff ends a run whose store failed within a superstep. What hops came to
// and could not be stored is worth another try: the store may be back by now,
// and an outcome that is lost has to be asked for.
func (r *run) brokenOff(s *superstep) ended {
	err := s.broken
	if r.store == nil || lost(err) || lost(context.Cause(r.ctx)) {
		return r.broken(err)
	}
	if records := s.waitingRecords(); len(records) > 0 {
		if e := (hopStore{r.store, r}).PutRecords(r.keep, state.Lease{}, records); e != nil {
			err = errors.Join(err, e)
		}
	}
	return r.broken(err)
}

// cancelled records that the run was cut. When it was the lease that ended it,
// nothing can be recorded and that is the error. Who cuts a run because its
// process must stop says so (state.ErrDraining): the thread is to go on elsewhere.
func (r *run) cancelled() ended {
	cause := context.Cause(r.ctx)
	if lost(cause) {
		return r.broken(cause)
	}
	if errors.Is(cause, state.ErrDraining) {
		return r.drained()
	}
	return r.stop(state.StatusCancelled, cause)
}
