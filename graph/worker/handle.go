package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"junction/graph"
	"junction/state"
)

// soon is how long a thread that cannot be run now waits at most for the next
// try: held by another worker, or not there yet.
const soon = time.Second

// errGoexit is the failure of a RunFunc that ended its goroutine.
var errGoexit = errors.New("running it ended the goroutine (runtime.Goexit)")

// handle looks at a claimed thread, runs it where it is to be run, and settles
// its claim.
func (w *Worker) handle(ctx, runs context.Context, h *held) {
	v, returned := left, false
	defer func() {
		if !returned { // by runtime.Goexit, which cannot be stopped
			v = w.fail(runs, h.thread, errGoexit)
		}
		w.settle(runs, h, v)
	}()
	v = w.look(ctx, runs, h.thread)
	returned = true
}

func (w *Worker) look(ctx, runs context.Context, thread string) verdict {
	if ctx.Err() != nil {
		return w.handBack(thread)
	}
	t, err := w.read(runs, thread)
	if errors.Is(err, state.ErrNotFound) {
		return w.absent(thread)
	}
	if err != nil {
		return w.trouble(runs, thread, err)
	}
	w.tries.found(thread)
	if t.Status == state.StatusCompleted || t.Status == state.StatusFailed || t.Status == state.StatusCancelled {
		return w.dropped(t)
	}
	return w.resume(runs, t)
}

// read is the thread as it stands.
func (w *Worker) read(runs context.Context, thread string) (state.Thread, error) {
	ctx, cancel := context.WithTimeout(runs, w.opt.Turn)
	defer cancel()
	return w.store.Thread(ctx, thread)
}

// resume runs a thread and judges how that ended.
func (w *Worker) resume(runs context.Context, t state.Thread) verdict {
	w.event(Event{Kind: EventTaken, Thread: t.ID, Status: t.Status})
	w.opt.Log.Debug("taken", "thread", t.ID, "status", t.Status)
	res, err := w.call(runs, t)
	if err != nil {
		return w.broken(runs, t.ID, err)
	}
	if res.Status == state.StatusFailed && w.opt.Elsewhere != nil && w.opt.Elsewhere(res.Err) {
		if n := w.tries.failed(t.ID); n < elsewhereMost {
			return w.elsewhere(runs, t.ID, n, res.Err)
		}
	}
	w.tries.succeeded(t.ID)
	switch {
	case res.Drained:
		return w.handBack(t.ID)
	case res.Status == state.StatusCompleted || res.Status.Stopped():
		w.logEnd(t.ID, res)
		w.event(Event{Kind: EventEnded, Thread: t.ID, Status: res.Status, Err: res.Err})
		return done
	}
	return w.broken(runs, t.ID, fmt.Errorf("thread %s: running it gave the status %q and no error", t.ID, res.Status))
}

func (w *Worker) logEnd(thread string, res graph.Result) {
	about := []any{"thread", thread, "status", res.Status}
	if res.Err != nil {
		about = append(about, "error", res.Err)
	}
	w.opt.Log.Info("ended", about...)
}

// elsewhere makes a thread pending again that another worker may be able to run.
// A crash before that leaves it failed, for a person to resume.
func (w *Worker) elsewhere(runs context.Context, thread string, n int, cause error) verdict {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(runs), w.opt.Turn)
	defer cancel()
	if _, err := w.store.Reopen(ctx, thread); err != nil {
		return w.trouble(runs, thread, err)
	}
	after := w.pace.backoff(n + 2)
	w.opt.Log.Warn("this worker lacks what it needs; left to another", "thread", thread, "error", cause, "again_in", after)
	w.event(Event{Kind: EventLeft, Thread: thread, Err: cause})
	return later(after)
}

// call is the RunFunc, whose panic is an error of this thread alone.
func (w *Worker) call(runs context.Context, t state.Thread) (res graph.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &failure{&graph.PanicError{Value: p, Stack: debug.Stack()}}
		}
	}()
	return w.run(runs, t, w.runOptions(t.ID))
}

func (w *Worker) runOptions(thread string) graph.RunOptions {
	return graph.RunOptions{
		Store: w.store, Thread: thread, Owner: w.opt.Owner, LeaseTTL: w.opt.Turn, Drain: w.drain, Queued: true,
	}
}

// failure is an error that fails its thread at once: another try would come to
// the same.
type failure struct{ error }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.error }
