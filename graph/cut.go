package graph

import (
	"errors"
	"time"
)

// errSibling is the cause of a task's end when another task failed.
var errSibling = errors.New("another task of the superstep failed")

// cutSiblings drains the hops of the other tasks and ends the context of each
// as soon as it has none in flight.
func (s *superstep) cutSiblings(failed *task) {
	for i := range s.tasks {
		t := &s.tasks[i]
		if t == failed || t.done == nil {
			continue
		}
		idle := t.drainJournal()
		s.r.wait.Go(func() { s.cutWhenIdle(t, idle) })
	}
}

func (s *superstep) cutWhenIdle(t *task, idle <-chan struct{}) {
	select {
	case <-idle:
	case <-t.done:
		return
	case <-t.ctx.Done():
	}
	t.cancel(errSibling)
	grace := time.NewTimer(s.r.grace())
	defer grace.Stop()
	select {
	case <-t.done:
	case <-grace.C:
		s.abandon(t)
	}
}

// abandon stops waiting for a task whose node ignores the end of its context.
func (s *superstep) abandon(t *task) {
	if t.claim == nil || !t.claim.abandon() {
		return
	}
	t.drainJournal()
	s.r.abandoned.Add(1)
	t.ending = ignored
	s.mu.Lock()
	s.undone--
	s.blocked = true
	s.mu.Unlock()
	if t.done != nil {
		close(t.done)
		go s.work() // in place of the worker that is stuck
	}
	s.settle()
}
