package graph

import (
	"context"
	"errors"
	"time"

	"junction/state"
)

// ended is what a run came to.
type ended struct {
	result Result
	err    error
}

// supervise runs the executor on a goroutine of its own and waits for it, so
// that a node which ignores the end of its context cannot hold the caller.
func (r *run) supervise(work func() ended) (Result, error) {
	back := make(chan ended, 1)
	if r.unstoppable {
		r.execute(work, back)
		return r.close(<-back)
	}
	go r.execute(work, back)
	var e ended
	select {
	case e = <-back:
	case <-r.ctx.Done():
		e = r.giveUp(back)
	}
	return r.close(e)
}

// execute is the executor. It reports nothing when it was given up.
func (r *run) execute(work func() ended, back chan<- ended) {
	clean := false
	defer func() {
		if clean || !r.guard.unwind() {
			return
		}
		err := errGoexit
		if s := r.current.Load(); s != nil && len(s.tasks) > 0 {
			err = &NodeError{Node: s.tasks[0].Node, Step: r.step + 1, Err: errGoexit}
		}
		if !r.holds() {
			back <- r.unbegun(err)
			return
		}
		back <- r.stop(state.StatusFailed, err)
	}()
	e := work()
	clean = true
	if !errors.Is(e.err, errAbandoned) {
		back <- e
	}
}

// unbegun ends a run that never began to advance its thread.
func (r *run) unbegun(err error) ended { return ended{Result{Thread: r.id}, err} }

// giveUp waits for the executor after the run's end was asked for. Tasks that
// still have not returned after the grace are abandoned; when one of them holds
// the executor itself, the run is concluded here.
func (r *run) giveUp(back <-chan ended) ended {
	grace := time.NewTimer(r.grace())
	defer grace.Stop()
	select {
	case e := <-back:
		return e
	case <-grace.C:
	}
	if r.guard.abandon() {
		r.abandoned.Add(1)
		s := r.current.Load()
		if s != nil {
			s.drainJournals()
		}
		if r.view == nil || !r.holds() {
			return r.unbegun(context.Cause(r.ctx))
		}
		return r.cancelled()
	}
	if s := r.current.Load(); s != nil {
		for i := range s.tasks {
			s.abandon(&s.tasks[i])
		}
	}
	// What is left is the run's own work: storing what was reached. A store that
	// hangs is cut off with the lease.
	cut := time.AfterFunc(r.ttl(), r.drop)
	defer cut.Stop()
	return <-back
}

// close ends everything the run started and hands out its result.
func (r *run) close(e ended) (Result, error) {
	close(r.over)
	err := r.release()
	if err != nil && !errors.Is(err, state.ErrLeaseLost) && e.err != nil {
		e.err = errors.Join(e.err, err)
	}
	e = r.heed(e, err)
	if e.err == nil {
		r.stream.send(Event{Kind: EventEnd, Status: e.result.Status, Err: e.result.Err, Step: r.step, Seq: r.seq})
	}
	r.stream.close()
	r.cancel(context.Canceled)
	r.drop()
	r.wait.Wait()
	e.result.Abandoned = int(r.abandoned.Load())
	return e.result, e.err
}
