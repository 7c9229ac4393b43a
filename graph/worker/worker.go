package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"junction/state"
	"junction/state/crash"
)

// claimMost bounds what one claim takes, so that threads which come all at once
// spread over the workers.
const claimMost = 8

// Worker takes queued threads and runs them. Its methods are safe for concurrent
// use.
type Worker struct {
	queue state.Queue
	store state.Store
	run   RunFunc
	opt   Options
	pace  *pace
	tries tries

	drain chan struct{} // closed: no new thread, stop at the next border
	freed chan struct{} // a thread has ended; of size 1

	mu        sync.Mutex
	served    bool
	held      map[string]*held
	extending chan struct{}  // closed when the turns under way are extended; nil: none is
	tasks     sync.WaitGroup // the threads in hand, and what takes them
}

// held is a thread that the worker has been given. Its fields but thread are
// guarded by the worker's mu.
type held struct {
	thread   string
	claim    state.Claim // as it stands
	moved    bool        // the entry is not this worker's any more
	again    bool        // asked for again meanwhile
	settling bool        // the claim is being used up
}

// New returns a worker that takes threads from q, which are kept in s, and runs
// them with run.
func New(q state.Queue, s state.Store, run RunFunc, o *Options) *Worker {
	f := filled(o)
	return &Worker{
		queue: q, store: s, run: run, opt: f, pace: newPace(f), held: make(map[string]*held),
		drain: make(chan struct{}), freed: make(chan struct{}, 1),
	}
}

// Running is how many threads the worker has in hand.
func (w *Worker) Running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

// Serve takes and runs threads until ctx ends, then drains: nothing new is taken,
// running threads stop at their next border and are handed back. Those that have
// not after Options.Grace are cut, and named by a *CutError; what was cut is
// handed back too. Without such threads the error is nil: trouble with queue or
// store is waited out, never an end. A worker serves once; options that cannot
// work are refused at once.
func (w *Worker) Serve(ctx context.Context) error {
	if err := w.check(); err != nil {
		return err
	}
	w.mu.Lock()
	served := w.served
	w.served = true
	w.mu.Unlock()
	if served {
		return errors.New("serve: this worker has served already; make another with worker.New")
	}
	runs, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	over := make(chan struct{})
	var extend sync.WaitGroup
	extend.Go(func() { w.extendTurns(runs, over) })
	defer extend.Wait()
	defer close(over)
	defer context.AfterFunc(ctx, func() { close(w.drain) })()

	w.tasks.Go(func() { w.takeThreads(ctx, runs) })
	<-ctx.Done() // the grace begins now, also when a claim still hangs
	return w.wind(cut)
}

// turnLeast is the shortest turn that three extensions fit into.
const turnLeast = 100 * time.Millisecond

func (w *Worker) check() error {
	switch {
	case w.queue == nil || w.store == nil || w.run == nil:
		return errors.New("serve: a worker needs a queue, a store and a function that runs threads; worker.New was given nil")
	case w.opt.Turn < turnLeast:
		return fmt.Errorf("serve: a turn of %s is too short to be extended in time; Options.Turn must be %s at least", w.opt.Turn, turnLeast)
	}
	return nil
}

// takeThreads claims threads while there is room, until ctx ends.
func (w *Worker) takeThreads(ctx, runs context.Context) {
	trouble := 0
	for ctx.Err() == nil {
		room := w.opt.Threads - w.Running()
		if room <= 0 {
			select {
			case <-w.freed:
			case <-ctx.Done():
			}
			continue
		}
		claims, next, err := w.claim(runs, min(room, claimMost))
		if err == nil {
			for _, c := range claims {
				w.take(ctx, runs, c)
			}
			if len(claims) > 0 {
				if next == 0 {
					trouble = 0
					continue // more are due
				}
				// One of them may turn out not to be runnable now, and be put off.
				if next < 0 || next > soon {
					next = soon
				}
			}
			err = w.wait(ctx, next)
		}
		if err == nil {
			trouble = 0
			continue
		}
		trouble++
		w.pause(ctx, trouble, err)
	}
}

// claim asks for threads. Its context is not the worker's own: what a claim that
// was cut off had taken would lie idle for a turn.
func (w *Worker) claim(runs context.Context, n int) ([]state.Claim, time.Duration, error) {
	ctx, cancel := context.WithTimeout(runs, w.opt.Turn)
	defer cancel()
	claims, next, err := w.queue.Claim(ctx, n, w.opt.Turn)
	if err != nil {
		return nil, 0, err
	}
	crash.Point("queue.claim.after")
	return claims, next, nil
}

// wait lets the time pass until a thread may be due.
func (w *Worker) wait(ctx context.Context, next time.Duration) error {
	if err := w.queue.WaitQueued(ctx, w.pace.idle(next)); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// pause waits out trouble with the queue.
func (w *Worker) pause(ctx context.Context, n int, err error) {
	d := w.pace.backoff(n)
	w.opt.Log.Warn("the queue cannot be asked", "error", err, "again_in", d, "running", w.Running())
	w.event(Event{Kind: EventTrouble, Err: err})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// take starts on a claimed thread.
func (w *Worker) take(ctx, runs context.Context, c state.Claim) {
	w.mu.Lock()
	h, there := w.held[c.Thread]
	late := there && h.settling
	if there && !late {
		// It runs here already: somebody asked for it again, or its turn was over
		// before it could be extended.
		h.claim, h.moved, h.again = c, false, true
	}
	if !there {
		h = &held{thread: c.Thread, claim: c}
		w.held[c.Thread] = h
	}
	w.mu.Unlock()
	switch {
	case late:
		w.settleClaim(runs, c, later(idleLeast))
	case !there:
		w.tasks.Go(func() {
			defer w.release(h)
			w.handle(ctx, runs, h)
		})
	}
}

// release makes room for another thread.
func (w *Worker) release(h *held) {
	w.mu.Lock()
	delete(w.held, h.thread)
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

func (w *Worker) event(e Event) {
	if w.opt.OnEvent != nil {
		w.opt.OnEvent(e)
	}
}
