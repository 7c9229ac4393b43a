package graph

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"junction/state"
	"junction/state/crash"
)

// keeper holds the lease of a run as it stands.
type keeper struct {
	held atomic.Pointer[state.Lease]
	// cancelled: taking it cleared a request to stop that nobody has dealt with.
	// It belongs to the executor's goroutine.
	cancelled bool
}

func (k *keeper) current() state.Lease {
	if l := k.held.Load(); l != nil {
		return *l
	}
	return state.Lease{}
}

// holds reports whether the run may record how it ends: it has, or had, the
// lease, or it keeps nothing.
func (r *run) holds() bool { return r.store == nil || r.lease.held.Load() != nil }

// takeLease acquires the thread's lease and starts what keeps it. It waits for
// another worker's lease as far as the caller wants that.
func (r *run) takeLease(ctx context.Context) error {
	t := turn{r: r}
	for {
		crash.Point("lease.acquire.before")
		l, err := r.store.Acquire(ctx, r.id, r.owner(), r.ttl())
		crash.Point("lease.acquire.after")
		if err == nil {
			r.lease.cancelled = l.Cancelled
			r.lease.held.Store(&l)
			r.wait.Go(r.renew)
			return nil
		}
		if err := t.await(ctx, err); err != nil {
			return err
		}
	}
}

// begin clears an earlier stop: the thread is running.
func (r *run) begin() error {
	crash.Point("thread.running.before")
	err := r.repeated(func(ctx context.Context) error {
		return r.store.SetStatus(ctx, r.lease.current(), state.StatusRunning, nil, nil)
	})
	crash.Point("thread.running.after")
	return err
}

// renew extends the lease every third of its time, and more often once that has
// failed. When it is lost, or may have
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
			ticker.Reset(r.ttl() / 3)
		case lost(err):
			r.loseLease(err)
			return
		case !time.Now().Before(held.Until) || r.keep.Err() != nil:
			r.loseLease(fmt.Errorf("thread %s: %w: it could not be renewed in time: %w", r.id, state.ErrLeaseLost, err))
			return
		default: // there is still time, and the store may be back soon
			ticker.Reset(r.ttl() / 12)
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

// release gives the lease back. One that cannot be given back runs out.
func (r *run) release() error {
	if r.store == nil || r.lease.held.Load() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.keep), time.Second)
	defer cancel()
	return r.store.Release(ctx, r.lease.current())
}
