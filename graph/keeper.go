package graph

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"junction/state"
	"junction/state/crash"
)

// cancelPoll is how often a running thread's store is asked whether somebody
// wants it to stop.
const cancelPoll = 250 * time.Millisecond

// keeper holds the lease of a run as it stands.
type keeper struct{ held atomic.Pointer[state.Lease] }

func (k *keeper) current() state.Lease {
	if l := k.held.Load(); l != nil {
		return *l
	}
	return state.Lease{}
}

// takeLease acquires the thread's lease, says that work begins, and starts what
// keeps it. It waits for another worker's lease when the caller wants that.
func (r *run) takeLease(ctx context.Context) error {
	var ends time.Time // of the lease waited for
	for {
		crash.Point("lease.acquire.before")
		l, err := r.store.Acquire(ctx, r.id, r.owner(), r.ttl())
		crash.Point("lease.acquire.after")
		var busy *state.BusyError
		switch {
		case err == nil:
			r.lease.held.Store(&l)
			r.wait.Go(r.renew)
			return nil
		case !errors.As(err, &busy) || r.opt.WaitBusy == nil:
			return err
		}
		if now := time.Now(); ends.IsZero() {
			ends = now.Add(busy.Remaining)
		} else if now.Add(busy.Remaining).Sub(ends) > renewed {
			return err // its owner is alive: it would be waited for in vain
		}
		r.opt.WaitBusy(busy.Remaining)
		// Asked again every second, so that a countdown can be shown and an
		// early release is noticed.
		timer := time.NewTimer(max(min(busy.Remaining, time.Second), time.Millisecond))
		select {
		case <-timer.C:
		case <-r.opt.Drain:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("waiting for thread %s: %w", r.id, context.Cause(ctx))
		}
	}
}

// renewed is how much later than expected a lease must end to have been
// extended meanwhile; clocks and scheduling account for less.
const renewed = 500 * time.Millisecond

// begin clears an earlier stop: the thread is running.
func (r *run) begin() error {
	crash.Point("thread.running.before")
	err := r.repeated(func(ctx context.Context) error {
		return r.store.SetStatus(ctx, r.lease.current(), state.StatusRunning, nil, nil)
	})
	crash.Point("thread.running.after")
	return err
}

// renew extends the lease every third of its time. When it is lost, or may have
// run out, everything stops.
func (r *run) renew() {
	ticker := time.NewTicker(r.ttl() / 3)
	defer ticker.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-ticker.C:
		}
		held := r.lease.current()
		ctx, cancel := context.WithDeadline(r.keep, held.Until)
		l, err := r.store.Renew(ctx, held)
		cancel()
		switch {
		case err == nil:
			r.lease.held.Store(&l)
		case lost(err):
			r.loseLease(err)
			return
		case time.Now().After(held.Until) || r.keep.Err() != nil:
			r.loseLease(fmt.Errorf("thread %s: %w: it could not be renewed in time: %w", r.id, state.ErrLeaseLost, err))
			return
		}
	}
}

func (r *run) loseLease(err error) {
	select {
	case <-r.over:
		return // released
	default:
	}
	r.cancel(err)
	r.drop()
}

// watchCancel asks the store whether the thread is to stop.
func (r *run) watchCancel() {
	ticker := time.NewTicker(cancelPoll)
	defer ticker.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-ticker.C:
		}
		// An error here is no error of the run: the renewal of the lease tells
		// a store that is gone, and the next tick asks again.
		if wanted, err := r.store.CancelRequested(r.keep, r.id); err == nil && wanted {
			r.cancel(ErrCancelRequested)
			return
		}
	}
}

// release gives the lease back. One that cannot be given back runs out.
func (r *run) release() error {
	if r.store == nil || r.lease.held.Load() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.keep), time.Second)
	defer cancel()
	return r.store.Release(ctx, r.lease.current())
}
