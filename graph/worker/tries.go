package worker

import (
	"sync"
	"time"
)

// Bounds of trying: an entry whose thread is not there is kept for as long as
// making one may take, and a thread that this worker cannot run is tried this
// often.
const (
	absentMost    = 30 * time.Second
	triesMost     = 6
	elsewhereMost = 4 // runs by one worker that lacks what a thread needs
)

// keptMost bounds how many threads are remembered; beyond it those that were not
// heard of for long are forgotten.
const keptMost = 4096

// tries remembers, by thread, what could not be done. What is forgotten costs
// another round of tries. It is safe for concurrent use.
type tries struct {
	mu sync.Mutex
	by map[string]trial
}

type trial struct {
	since, last time.Time // of the absence; of anything
	failed      int
}

func (t *tries) note(thread string, change func(*trial)) trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = make(map[string]trial)
	}
	now := time.Now()
	if len(t.by) >= keptMost {
		for k, v := range t.by {
			if now.Sub(v.last) > 2*absentMost {
				delete(t.by, k)
			}
		}
	}
	v := t.by[thread]
	v.last = now
	change(&v)
	t.by[thread] = v
	return v
}

// absent notes that a thread is not there, and reports whether it has not been
// for too long.
func (t *tries) absent(thread string) bool {
	v := t.note(thread, func(v *trial) {
		if v.since.IsZero() {
			v.since = v.last
		}
	})
	if v.last.Sub(v.since) < absentMost {
		return false
	}
	t.succeeded(thread)
	return true
}

// found ends an absence.
func (t *tries) found(thread string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.by[thread]; ok {
		v.since = time.Time{}
		t.by[thread] = v
	}
}

// failed counts a run that broke off.
func (t *tries) failed(thread string) int {
	return t.note(thread, func(v *trial) { v.failed++ }).failed
}

// succeeded forgets a thread.
func (t *tries) succeeded(thread string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, thread)
}
