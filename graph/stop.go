package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
	"junction/state/crash"
)

// save makes durable what a task that has ended leaves behind, unless its
// writes ride in the commit.
func (r *run) save(t *task) error {
	switch t.ending {
	case finished:
		if t.held {
			return nil
		}
		records := t.records()
		crash.Point("task.writes.before")
		err := r.putWrites(r.g.stored(t.ID, &t.out), records)
		crash.Point("task.writes.after")
		if err != nil {
			t.giveBack(records)
		}
		return err
	case waiting:
		return r.saveQuestions(t)
	}
	return nil // records of failed and cut tasks ride in the status
}

func (r *run) saveQuestions(t *task) error {
	open := t.asking.waiting()
	records := t.records()
	for _, i := range open {
		i.Asked = r.askedAt()
		if err := r.putInterrupt(i, records); err != nil {
			t.giveBack(records)
			return err
		}
		records = nil
	}
	return nil
}

// askedAt is the time of a question: the store's own where there is one.
func (r *run) askedAt() time.Time {
	if r.store != nil {
		return time.Time{}
	}
	return time.Now()
}

// saveHeld stores writes that were to ride in a commit that will not be.
func (r *run) saveHeld() error {
	s := r.current.Load()
	if s == nil || r.store == nil {
		return nil
	}
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.ending != finished || !t.held {
			continue
		}
		t.held = false
		if err := r.save(t); err != nil {
			return err
		}
	}
	return nil
}

// stop records that the run ends without advancing.
func (r *run) stop(status state.Status, cause error) ended {
	if err := r.saveHeld(); err != nil {
		return r.broken(errors.Join(err, cause))
	}
	var f *state.Failure
	if cause != nil {
		failure := state.FailureOf(cause)
		if status == state.StatusCancelled {
			failure.Code = "cancelled"
		}
		f = &failure
	}
	var records []state.Record
	if s := r.current.Load(); s != nil && r.store != nil {
		records = s.waitingRecords()
	}
	if err := r.setStatus(status, f, records); err != nil {
		return r.broken(errors.Join(err, cause))
	}
	res := r.result(status)
	res.Err = cause
	return ended{result: res}
}

// drained stops at a border, or in the middle of a superstep some of whose
// tasks could not go on. The thread's status stays as it is: to say once more
// that it runs would clear a cancellation asked for meanwhile.
func (r *run) drained() ended {
	if err := r.saveHeld(); err != nil {
		return r.broken(err)
	}
	if s := r.current.Load(); s != nil && r.store != nil {
		if records := s.waitingRecords(); len(records) > 0 {
			if err := (hopStore{r.store, r}).PutRecords(r.keep, state.Lease{}, records); err != nil {
				return r.broken(err)
			}
		}
	}
	res := r.result(state.StatusRunning)
	res.Drained = true
	return ended{result: res}
}

// heed looks once more, after the lease is given back, whether somebody asked
// for the thread's end while it was stopping. The release has carried that out.
// Where it failed the run is no success: whoever takes the thread next, when the
// lease has run out, is told of the request.
func (r *run) heed(e ended, released error) ended {
	if r.store == nil || e.err != nil || e.result.Status != state.StatusInterrupted && !e.result.Drained {
		return e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.keep), time.Second)
	defer cancel()
	t, err := r.store.Thread(ctx, r.id)
	wanted := t.Status == state.StatusCancelled
	switch {
	case err != nil:
		err = errors.Join(err, released)
	case t.Cancel && !wanted:
		err = released
	}
	switch {
	case err != nil:
		e.err = fmt.Errorf("thread %s stopped, but whether its cancellation was asked for, and carried out, is not known: %w", r.id, err)
	case wanted:
		e.result.Status, e.result.Err, e.result.Drained = state.StatusCancelled, ErrCancelRequested, false
	}
	return e
}

// interrupted stops at questions or pauses. folded: every task has finished,
// and the state is shown as it will be committed.
func (r *run) interrupted(s *superstep, folded bool) ended {
	e := r.stop(state.StatusInterrupted, nil)
	if folded && e.err == nil {
		// A fault of the fold is the failure of the run that will commit it.
		if f, err := r.fold(s.tasks); err == nil {
			e.result.State = (&view{g: r.g, cells: f.cells}).values()
		}
	}
	return e
}

// result describes the thread as it stands.
func (r *run) result(status state.Status) Result {
	res := Result{Thread: r.id, Status: status, Seq: r.seq, Step: r.step}
	if r.view != nil {
		res.State = r.view.values()
	}
	if status != state.StatusCompleted {
		res.Interrupts = r.waitingInterrupts()
	}
	return res
}

// waitingInterrupts lists the unanswered questions of the superstep under way.
func (r *run) waitingInterrupts() []state.Interrupt {
	var all []state.Interrupt
	seen := map[string]bool{}
	add := func(is []state.Interrupt) {
		for _, i := range is {
			if i.Answer == nil && !i.Live && !seen[i.ID] {
				seen[i.ID] = true
				all = append(all, i)
			}
		}
	}
	r.mu.Lock()
	add(r.questions) // as they were put last
	r.mu.Unlock()
	if r.pending != nil {
		add(r.pending.Interrupts)
	}
	sortInterrupts(all)
	return all
}
