package graph

import "sync"

// drain is the run's signal that no new hop starts. One failing task begins it,
// or RunOptions.Drain does.
type drain struct {
	once   sync.Once
	signal chan struct{} // what hops see
	mu     sync.Mutex
	failed bool
}

func (d *drain) channel() <-chan struct{} { return d.signal }

func (d *drain) begun() bool {
	select {
	case <-d.signal:
		return true
	default:
		return false
	}
}

// failing reports whether it was a failure that began the drain, or followed.
func (d *drain) failing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// fail begins a drain because a task failed.
func (d *drain) fail() {
	d.mu.Lock()
	d.failed = true
	d.mu.Unlock()
	d.begin()
}

func (d *drain) begin() { d.once.Do(func() { close(d.signal) }) }

// drainRequested reports whether the caller asked for a stop at the border.
func (r *run) drainRequested() bool {
	select {
	case <-r.opt.Drain:
		return true
	default:
		return false
	}
}

// watchDrain passes the caller's request on to the hops under way.
func (r *run) watchDrain() {
	select {
	case <-r.opt.Drain:
		r.drain.begin()
		if s := r.current.Load(); s != nil {
			s.drainJournals()
		}
	case <-r.over:
	}
}

// drainJournals refuses new hops in every task under way. Tasks that open a
// journal later see the signal themselves.
func (s *superstep) drainJournals() {
	for i := range s.tasks {
		s.tasks[i].drainJournal()
	}
}

// drainJournal returns a channel that is closed once the task has no hop in
// flight; it is closed already when it has none.
func (t *task) drainJournal() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal == nil {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	return t.journal.Drain()
}
