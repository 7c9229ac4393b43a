package graph

import (
	"context"
	"errors"
	"sync"

	"junction/state"
)

// superstep is one parallel round: every planned task, finished before or not.
type superstep struct {
	r     *run
	tasks []task // in task order; never resized
	only  [1]task
	queue chan *task

	mu      sync.Mutex
	undone  int  // tasks to run whose ending is not known
	unsaved int  // … or not yet stored
	blocked bool // no commit follows at once: the last task's writes are put as well
	failed  *task
	broken  error         // of the store or the lease
	settled chan struct{} // closed when unsaved reaches 0; nil for a task alone
}

// prepare lays out the tasks of the checkpoint at the head and counts those that
// are to run: without stored writes, not held by a pause, not wholly waiting.
func (r *run) prepare() (s *superstep, todo int, err error) {
	s = &superstep{r: r}
	if s.tasks = s.only[:]; len(r.tasks) > 1 {
		s.tasks = make([]task, len(r.tasks))
	}
	at := place{step: r.step + 1, seq: r.seq, view: r.view, pending: r.pending}
	for i := range r.tasks {
		t := &s.tasks[i]
		t.planned, t.run, t.step, t.at = r.tasks[i], r, s, at
		t.spec = &r.g.nodes[t.node]
		if r.pending != nil {
			if w, ok := r.pending.Pending[t.ID]; ok {
				if t.out, err = r.g.restored(w); err != nil {
					return nil, 0, err
				}
				t.ending = finished
				continue
			}
		}
		hold, err := r.heldBack(t)
		if err != nil {
			return nil, 0, err
		}
		if hold {
			t.ending, s.blocked = waiting, true
			continue
		}
		s.blocked = s.blocked || t.spec.PauseAfter
		todo++
	}
	return s, todo, nil
}

// round runs the superstep's tasks and returns when each has ended or been
// given up.
func (r *run) round() (*superstep, error) {
	s, todo, err := r.prepare()
	if err != nil {
		return nil, err
	}
	r.current.Store(s)
	if r.stream.on != nil {
		r.event(Event{Kind: EventStep, Nodes: nodeNames(r.tasks), Tasks: len(r.tasks)})
	}
	s.undone, s.unsaved = todo, todo
	switch todo {
	case 0:
		return s, nil
	case 1:
		return s, s.alone()
	}
	s.together(todo)
	return s, nil
}

// alone runs the only task that is to run on the executor's goroutine, under the
// run's guard.
func (s *superstep) alone() error {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.ending != running {
			continue
		}
		t.claim = &s.r.guard
		t.within(s.r.ctx)
		if !t.execute() {
			return errAbandoned
		}
		s.end(t)
		return nil
	}
	return nil
}

// together runs todo tasks at once, at most RunOptions.MaxParallel of them.
func (s *superstep) together(todo int) {
	s.settled = make(chan struct{})
	s.queue = make(chan *task, todo)
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.ending != running {
			continue
		}
		t.claim, t.done = &t.own, make(chan struct{})
		var ctx context.Context
		ctx, t.cancel = context.WithCancelCause(s.r.ctx)
		t.within(ctx)
		s.queue <- t
	}
	close(s.queue)
	for range min(todo, s.r.parallel()) {
		go s.work()
	}
	<-s.settled
	for i := range s.tasks {
		if cancel := s.tasks[i].cancel; cancel != nil {
			cancel(nil)
		}
	}
}

// work runs queued tasks until none is left or one of them was given up.
func (s *superstep) work() {
	for t := range s.queue {
		if !s.one(t) {
			return
		}
	}
}

func (s *superstep) one(t *task) (goOn bool) {
	clean := false
	defer func() {
		if !clean && t.claim.unwind() {
			t.err, t.ending = &NodeError{Node: t.Node, Index: t.Index, Step: t.at.step, Err: errGoexit}, failed
			s.end(t)
			goOn = false
		}
	}()
	if s.r.drain.begun() || t.ctx.Err() != nil {
		t.ending, clean = cut, true
		s.end(t)
		return true
	}
	if !t.execute() {
		clean = true
		return false
	}
	clean = true
	s.end(t)
	return true
}

// end books a task's ending, stores what must be durable now and starts the
// drain of its siblings when it failed.
func (s *superstep) end(t *task) {
	s.mu.Lock()
	s.undone--
	last := s.undone == 0
	first := false
	switch t.ending {
	case finished:
		t.held = last && !s.blocked || s.r.store == nil
	case failed:
		s.blocked = true
		if breaks(t.err) {
			s.broken = errors.Join(s.broken, t.err)
		}
		if s.failed == nil {
			s.failed, first = t, true
		}
	default:
		s.blocked = true
	}
	if t.broken != nil {
		s.broken = errors.Join(s.broken, t.broken)
	}
	s.mu.Unlock()
	if first {
		s.r.drain.fail()
		s.cutSiblings(t)
	}
	if err := s.r.save(t); err != nil {
		s.mu.Lock()
		s.broken = errors.Join(s.broken, err)
		s.mu.Unlock()
	}
	if t.done != nil {
		close(t.done)
	}
	s.settle()
}

func (s *superstep) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaved--; s.unsaved == 0 && s.settled != nil {
		close(s.settled)
	}
}

func nodeNames(ts []planned) []string {
	var names []string
	for i, t := range ts {
		if i == 0 || ts[i-1].node != t.node {
			names = append(names, t.Node)
		}
	}
	return names
}

// waitingRecords takes the records of tasks that leave no writes.
func (s *superstep) waitingRecords() []state.Record {
	var rs []state.Record
	for i := range s.tasks {
		rs = append(rs, s.tasks[i].records()...)
	}
	return rs
}
