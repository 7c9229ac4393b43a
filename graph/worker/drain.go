package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/graph"
	"junction/state"
)

// CutError names the threads that did not stop at a border within the grace of a
// drain. They were handed back all the same, except the stuck ones, which others
// take over when their leases have run out.
type CutError struct {
	Cut   []string // by id
	Stuck []string // of them, those that still had not returned
}

func (e *CutError) Error() string {
	s := fmt.Sprintf("%d threads did not stop within the grace and were cut (%s); other workers go on from what is stored, and a call that may have taken effect is asked about",
		len(e.Cut), list(e.Cut))
	if len(e.Stuck) > 0 {
		s += fmt.Sprintf("; %d have not returned even so (%s): their leases run out", len(e.Stuck), list(e.Stuck))
	}
	return s
}

// list names a few threads.
func list(ids []string) string {
	const most = 8
	if len(ids) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return strings.Join(ids, ", ")
}

// wind waits until every thread in hand has stopped and been handed back; after
// the grace it cuts them.
func (w *Worker) wind(cut context.CancelCauseFunc) error {
	idle := make(chan struct{})
	go func() {
		w.tasks.Wait()
		close(idle)
	}()
	w.opt.Log.Info("draining", "running", w.Running())
	if ends(idle, max(w.opt.Grace, 0)) {
		return nil
	}
	e := &CutError{Cut: w.ids()}
	cut(fmt.Errorf("the worker's grace of %s is over: %w", w.opt.Grace, state.ErrDraining))
	// A run gives up nodes that ignore it after a grace of its own, and has to
	// reach the store then.
	if !ends(idle, graph.DefaultGrace+w.opt.Turn) {
		e.Stuck = w.ids()
	}
	if len(e.Cut) == 0 {
		return nil
	}
	return e
}

// ends reports whether idle is closed within d.
func ends(idle <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}

// ids lists the threads in hand.
func (w *Worker) ids() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.held))
}
