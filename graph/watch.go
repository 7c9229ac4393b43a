package graph

import (
	"time"

	"junction/state"
)

// How often a running thread's store is asked whether somebody wants it to stop:
// where nothing tells of it, and where that would have been told already.
const (
	cancelPoll   = 250 * time.Millisecond
	cancelUntold = 2 * time.Second
)

// watchCancel asks the store whether the thread is to stop: at once when the
// store tells that somebody asked, else from time to time.
func (r *run) watchCancel() {
	every := cancelPoll
	var asked <-chan struct{}
	var first <-chan time.Time
	if n, ok := r.store.(state.CancelNotifier); ok {
		var stop func()
		asked, stop = n.NotifyCancel(r.id)
		defer stop()
		every = cancelUntold
		first = time.After(0) // what came before the notice is not told
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-r.over:
			return
		case _, open := <-asked:
			if !open { // the store is being closed
				asked, every = nil, cancelPoll
			}
		case <-first:
			first = nil
		case <-ticker.C:
		}
		// An error here is no error of the run: the renewal of the lease tells
		// a store that is gone, and the next tick asks again.
		wanted, err := r.store.CancelRequested(r.keep, r.id)
		switch {
		case err == nil && wanted:
			r.cancel(ErrCancelRequested)
			return
		case err != nil:
			ticker.Reset(cancelPoll) // what was told must not wait long
		default:
			ticker.Reset(every)
		}
	}
}
