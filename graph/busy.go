package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

// BusyPolicy says what a resume does about a thread that another worker runs.
// Whatever it says, one run at a time advances a thread, and the one that comes
// later goes on from what the one before it has committed.
type BusyPolicy string

const (
	// BusyReject fails with *state.BusyError; with RunOptions.WaitBusy it waits
	// for the lease of a dead owner to run out. "" means the same.
	BusyReject BusyPolicy = "reject"
	// BusyQueue waits for as long as somebody holds the thread. Several that
	// wait get it in no particular order.
	BusyQueue BusyPolicy = "queue"
	// BusyInterrupt asks the holder to stop, once, and waits as BusyQueue does.
	BusyInterrupt BusyPolicy = "interrupt"
)

// check refuses a policy that does not exist.
func (p BusyPolicy) check() error {
	switch p {
	case "", BusyReject, BusyQueue, BusyInterrupt:
		return nil
	}
	return fmt.Errorf("there is no busy policy %q; there are %q, %q and %q", string(p), BusyReject, BusyQueue, BusyInterrupt)
}

// While a run waits for a lease it asks again this often at most and at least,
// the time doubled each time; a caller who wants a countdown is told each time
// that the latter has passed.
const (
	busyFirst = 100 * time.Millisecond
	busyMost  = time.Second
)

// renewed is how much later than expected a lease must end to have been
// extended meanwhile; clocks and scheduling account for less.
const renewed = 500 * time.Millisecond

// turn is a run's wait for a lease that another worker holds.
type turn struct {
	r     *run
	ends  time.Time // of the lease, as it was seen first
	next  time.Duration
	told  time.Time
	asked bool // the holder to stop
}

// await returns nil when the lease is to be asked for again after it was refused
// with err.
func (t *turn) await(ctx context.Context, err error) error {
	var busy *state.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	switch t.r.opt.Busy {
	case BusyInterrupt:
		if err := t.interrupt(ctx); err != nil {
			return err
		}
	case BusyQueue:
	default:
		if t.r.opt.WaitBusy == nil || t.renewed(busy.Remaining) {
			return err
		}
		t.next = busyMost
	}
	t.tell(busy.Remaining)
	return t.sleep(ctx, busy.Remaining, err)
}

// renewed reports that the owner is alive: it would be waited for in vain.
func (t *turn) renewed(remaining time.Duration) bool {
	ends := time.Now().Add(remaining)
	if t.ends.IsZero() {
		t.ends = ends
	}
	return ends.Sub(t.ends) > renewed
}

// interrupt asks the holder to stop. The request is the holder's: the next to
// acquire the lease clears it.
func (t *turn) interrupt(ctx context.Context) error {
	if t.asked {
		return nil
	}
	if err := t.r.store.RequestCancel(ctx, t.r.id); err != nil {
		return fmt.Errorf("thread %s: asking its holder to stop: %w", t.r.id, err)
	}
	t.asked = true
	return nil
}

// tell shows the wait to the caller.
func (t *turn) tell(remaining time.Duration) {
	now := time.Now()
	if t.r.opt.WaitBusy == nil || !t.told.IsZero() && now.Sub(t.told) < busyMost {
		return
	}
	t.told = now
	t.r.opt.WaitBusy(remaining)
}

// sleep lets the time until the next try pass; refused is what a drain leaves.
func (t *turn) sleep(ctx context.Context, remaining time.Duration, refused error) error {
	t.next = max(t.next, busyFirst)
	timer := time.NewTimer(max(min(remaining, t.next), time.Millisecond))
	defer timer.Stop()
	t.next = min(2*t.next, busyMost)
	select {
	case <-timer.C:
		return nil
	case <-t.r.opt.Drain:
		return refused
	case <-ctx.Done():
		return fmt.Errorf("waiting for thread %s: %w", t.r.id, context.Cause(ctx))
	}
}
