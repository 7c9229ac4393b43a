package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/graph"
	"junction/state"
)

// broken judges a run that ended without a recorded status.
func (w *Worker) broken(runs context.Context, thread string, err error) verdict {
	var busy *state.BusyError
	switch {
	case errors.Is(err, state.ErrRegressed):
		w.mark(runs, thread, err)
		return w.gone(thread, err)
	case errors.Is(err, state.ErrVanished):
		return w.gone(thread, err)
	case errors.Is(err, graph.ErrFinished), errors.Is(err, graph.ErrStopped):
		w.event(Event{Kind: EventDropped, Thread: thread})
		return done
	case errors.As(err, &busy):
		w.event(Event{Kind: EventBusy, Thread: thread, Err: err})
		return later(min(busy.Remaining, soon))
	case errors.Is(err, state.ErrLeaseLost):
		// Whoever took it goes on, or will when the turn is over.
		w.opt.Log.Warn("lost", "thread", thread, "error", err)
		w.event(Event{Kind: EventLeft, Thread: thread, Err: err})
		return left
	case errors.Is(err, state.ErrNotFound):
		if _, again := w.read(runs, thread); errors.Is(again, state.ErrNotFound) {
			return w.absent(thread)
		}
	}
	return w.trouble(runs, thread, err)
}

// trouble judges an error that may pass: the store's, or one of this worker's
// own, which cannot run what another can.
func (w *Worker) trouble(runs context.Context, thread string, err error) verdict {
	w.event(Event{Kind: EventLeft, Thread: thread, Err: err})
	switch {
	case away(err):
		w.opt.Log.Warn("left until the store is there again", "thread", thread, "error", err)
		return left
	case runs.Err() != nil: // cut
		return w.handBack(thread)
	}
	n := w.tries.failed(thread)
	var final *failure
	if errors.As(err, &final) || n >= triesMost {
		return w.fail(runs, thread, err)
	}
	after := w.pace.backoff(n + 2)
	w.opt.Log.Warn("will be tried again", "thread", thread, "error", err, "again_in", after)
	return later(after)
}

// away tells a store that cannot be reached now from one that refuses: a bounded
// operation on it may end by its own deadline first.
func away(err error) bool {
	return errors.Is(err, state.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// fail records that a thread cannot be run, for a person to see and to resume.
func (w *Worker) fail(runs context.Context, thread string, cause error) verdict {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runs), w.opt.Turn)
	defer cancel()
	err := w.recordFailure(ctx, thread, cause)
	if busy := (*state.BusyError)(nil); errors.As(err, &busy) {
		return later(min(busy.Remaining, soon)) // it can be run after all
	}
	if err != nil {
		w.opt.Log.Error("cannot be run, and that could not be recorded", "thread", thread, "error", errors.Join(cause, err))
		return left
	}
	w.tries.succeeded(thread)
	w.opt.Log.Error("cannot be run", "thread", thread, "error", cause)
	w.event(Event{Kind: EventEnded, Thread: thread, Status: state.StatusFailed, Err: cause})
	return done
}

// recordFailure fails a thread that is still to be run, or ends it as its holder
// was asked to and did not live to.
func (w *Worker) recordFailure(ctx context.Context, thread string, cause error) (err error) {
	l, err := w.store.Acquire(ctx, thread, w.opt.Owner, w.opt.Turn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Release(ctx, l)) }()
	t, err := w.store.Thread(ctx, thread)
	off := l.Cancelled && t.Status.HeedsCancel()
	if err != nil || !off && (t.Status == state.StatusCompleted || t.Status.Stopped()) {
		return err
	}
	f := state.FailureOf(fmt.Errorf("worker %s cannot run it: %w", w.opt.Owner, cause))
	if off {
		f.Code = "cancelled"
		return w.store.SetStatus(ctx, l, state.StatusCancelled, &f, nil)
	}
	return w.store.SetStatus(ctx, l, state.StatusFailed, &f, nil)
}

// mark records a thread whose store has gone back as failed, so that an entry
// which came back with the store makes no other worker run it. It waits for what
// the store believes to be a lease, of this worker or of one before, to run out.
func (w *Worker) mark(runs context.Context, thread string, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runs), w.opt.Turn+soon)
	defer cancel()
	for {
		err := w.recordFailure(ctx, thread, cause)
		var busy *state.BusyError
		if errors.As(err, &busy) && waits(ctx, min(busy.Remaining, soon)) {
			continue
		}
		if err != nil {
			w.opt.Log.Error("the store has gone back, and the thread could not be marked as failed", "thread", thread, "error", err)
		}
		return
	}
}

// waits lets a time pass, unless ctx ends before.
func waits(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// gone gives up on a thread whose store has lost it or part of it.
func (w *Worker) gone(thread string, err error) verdict {
	w.opt.Log.Error("acknowledged work is missing from the store; the thread is not run again by itself", "thread", thread, "error", err)
	w.event(Event{Kind: EventGone, Thread: thread, Err: err})
	return never
}

// absent judges an entry whose thread does not exist: it is about to be created,
// or never will be.
func (w *Worker) absent(thread string) verdict {
	if !w.tries.absent(thread) {
		return later(soon)
	}
	w.opt.Log.Warn("queued, but never created", "thread", thread)
	w.event(Event{Kind: EventDropped, Thread: thread})
	return done
}

// dropped takes a thread out that has ended already.
func (w *Worker) dropped(t state.Thread) verdict {
	w.tries.succeeded(t.ID)
	w.event(Event{Kind: EventDropped, Thread: t.ID, Status: t.Status})
	return done
}

func (w *Worker) handBack(thread string) verdict {
	w.event(Event{Kind: EventHandBack, Thread: thread})
	return later(0)
}
