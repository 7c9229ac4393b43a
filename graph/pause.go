package graph

import (
	"encoding/json"
	"fmt"
	"time"

	"junction/state"
)

// heldBack reports whether a task must not run yet: its node pauses before it,
// or all its questions still wait and would be put as they were.
func (r *run) heldBack(t *task) (bool, error) {
	if t.spec.PauseBefore {
		if hold, err := r.pause(t, "before"); hold || err != nil {
			return hold, err
		}
	}
	if r.pending == nil {
		return false, nil
	}
	waits := false
	for _, i := range r.pending.Interrupts {
		if i.Task != t.ID || i.Live || isPause(*r.pending, i) {
			continue
		}
		if i.Answer != nil {
			return false, nil
		}
		waits = true
	}
	return waits && !r.offersMore(t), nil
}

// offersMore reports whether a waiting task's questions may be other ones now:
// the maximum time of an attempt of unknown outcome has passed, so that more can
// be done about it. When a question was asked does not tell: it may have been put
// together before that moment and stored after it.
func (r *run) offersMore(t *task) bool {
	now := time.Now()
	for _, rec := range r.pending.Records {
		if rec.Task != t.ID && rec.Task != handlerID(t.ID) || !rec.Undecided() {
			continue
		}
		if !now.Before(rec.Started.Add(rec.Max)) {
			return true
		}
	}
	return false
}

// pausedAfter reports whether a node of a finished superstep pauses after it.
func (r *run) pausedAfter(s *superstep) (bool, error) {
	paused := false
	for i := range s.tasks {
		if !s.tasks[i].spec.PauseAfter {
			continue
		}
		hold, err := r.pause(&s.tasks[i], "after")
		if err != nil {
			return false, err
		}
		paused = paused || hold
	}
	return paused, nil
}

// pause asks a node's static interrupt once; true: it has not been passed yet.
func (r *run) pause(t *task, when string) (bool, error) {
	id := pauseID(r.id, r.lineage, r.seq, t.Node, when)
	if i, ok := asked(r.pending, id); ok {
		return i.Answer == nil, nil
	}
	r.mu.Lock()
	for _, i := range r.questions {
		if i.ID == id {
			r.mu.Unlock()
			return true, nil
		}
	}
	r.mu.Unlock()
	v, err := json.Marshal(map[string]string{"pause": when, "node": t.Node})
	if err != nil {
		return false, fmt.Errorf("pause %s node %q: %w", when, t.Node, err)
	}
	return true, r.putInterrupt(state.Interrupt{ID: id, Task: t.ID, Node: t.Node, Value: v, Asked: r.askedAt()}, nil)
}
