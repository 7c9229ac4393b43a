package worker

import (
	"context"
	"time"

	"junction/state"
	"junction/state/crash"
)

// verdict says what becomes of a claim.
type verdict struct {
	keep  bool          // the entry stays, due after a time
	final bool          // it goes, also when it was asked for again
	leave bool          // nothing is done: the turn runs out
	after time.Duration // of keep
}

// The ways a claim can end.
var (
	done  = verdict{}
	left  = verdict{leave: true}
	never = verdict{final: true}
)

// later makes the thread due again.
func later(after time.Duration) verdict { return verdict{keep: true, after: max(after, 0)} }

// settle uses a thread's claim up. A thread that was asked for again while it
// was in hand is looked at once more, whatever it came to.
func (w *Worker) settle(runs context.Context, h *held, v verdict) {
	c, again := w.settling(h)
	if again && v == done {
		v = later(0)
	}
	w.settleClaim(runs, c, v)
}

// settleClaim carries a verdict out. When it cannot, the turn runs out, and
// whoever is given the thread then comes to the same verdict.
func (w *Worker) settleClaim(runs context.Context, c state.Claim, v verdict) {
	if v.leave {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runs), w.opt.Turn)
	defer cancel()
	var err error
	if v.keep {
		err = w.queue.Defer(ctx, c, v.after) // which wakes a worker when it is due at once
	} else {
		crash.Point("queue.done.before")
		err = w.queue.Done(ctx, c)
		crash.Point("queue.done.after")
	}
	if err != nil {
		w.opt.Log.Warn("the queue could not be told what became of a thread: its turn runs out", "thread", c.Thread, "error", err)
	}
}
