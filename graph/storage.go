package graph

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"junction/state"
	"junction/state/crash"
)

// Store operations that may be repeated are tried this often, this far apart
// (doubled), before their error surfaces.
const (
	storeTries = 3
	storeDelay = 50 * time.Millisecond
)

// repeated runs a store operation that is harmless to repeat.
func (r *run) repeated(op func(ctx context.Context) error) error { return r.repeatedIn(r.keep, op) }

// repeatedIn is repeated for as long as ctx and the run's own store operations
// last.
func (r *run) repeatedIn(ctx context.Context, op func(ctx context.Context) error) error {
	delay := storeDelay
	for n := 1; ; n++ {
		err := op(ctx)
		if err == nil || n == storeTries || settledError(err) || ctx.Err() != nil || r.keep.Err() != nil {
			return r.cause(err)
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r.cause(err)
		case <-r.keep.Done():
			timer.Stop()
			return r.cause(err)
		}
		delay *= 2
	}
}

// hopStore is the store as journals see it: what a hop stores is tried again as
// everything else is, under the lease as it stands then.
type hopStore struct {
	state.Store
	run *run
}

func (s hopStore) PutRecords(ctx context.Context, _ state.Lease, records []state.Record) error {
	return s.run.repeatedIn(ctx, func(ctx context.Context) error {
		return s.Store.PutRecords(ctx, s.run.lease.current(), records)
	})
}

func (s hopStore) PutSession(ctx context.Context, _ state.Lease, session state.Session) error {
	return s.run.repeatedIn(ctx, func(ctx context.Context) error {
		return s.Store.PutSession(ctx, s.run.lease.current(), session)
	})
}

// cause names a lost lease as what ended an operation that it cut.
func (r *run) cause(err error) error {
	if err != nil && !lost(err) && r.keep.Err() != nil {
		if cause := context.Cause(r.ctx); lost(cause) {
			return errors.Join(cause, err)
		}
	}
	return err
}

// settledError tells the store's decisions from trouble that may pass.
func settledError(err error) bool {
	for _, e := range []error{state.ErrNotFound, state.ErrExists, state.ErrConflict, state.ErrLeaseLost, state.ErrBusy,
		state.ErrAnswered, state.ErrNewer, state.ErrCorrupt, state.ErrVanished, state.ErrRegressed,
		// A backend that says so has tried for as long as it may.
		state.ErrUnavailable, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (r *run) createThread(n state.NewThread) error {
	crash.Point("thread.create.before")
	_, err := r.store.CreateThread(r.ctx, n) // not repeatable: its own thread would be in the way
	crash.Point("thread.create.after")
	return err
}

func (r *run) putWrites(w state.TaskWrites, records []state.Record) error {
	return r.repeated(func(ctx context.Context) error {
		return r.store.PutWrites(ctx, r.lease.current(), r.seq, w, records)
	})
}

func (r *run) putInterrupt(i state.Interrupt, records []state.Record) error {
	if r.store != nil {
		crash.Point("interrupt.put.before")
		err := r.repeated(func(ctx context.Context) error {
			return r.store.PutInterrupt(ctx, r.lease.current(), r.seq, i, records)
		})
		crash.Point("interrupt.put.after")
		if err != nil {
			return err
		}
	}
	r.mu.Lock()
	r.questions = append(r.questions, i)
	r.mu.Unlock()
	r.event(Event{Kind: EventInterrupt, Task: i.Task, Node: i.Node, Value: i})
	return nil
}

func (r *run) commit(c state.Commit) error {
	c.Lease = r.lease.current()
	c.WriteID = writeID(r.id, r.lineage, c.Parent, c.Lease.Token)
	crash.Point("step.commit.before")
	err := r.repeated(func(ctx context.Context) error {
		c.Lease = r.lease.current()
		_, err := r.store.Commit(ctx, c)
		return err
	})
	crash.Point("step.commit.after")
	return err
}

func (r *run) setStatus(s state.Status, f *state.Failure, records []state.Record) error {
	if r.store == nil {
		return nil
	}
	crash.Point("thread.status.before")
	err := r.repeated(func(ctx context.Context) error {
		return r.store.SetStatus(ctx, r.lease.current(), s, f, records)
	})
	crash.Point("thread.status.after")
	return err
}

// storedCells adds the initial values: append channels exist from the start.
func (r *run) storedCells(n *state.NewThread) error {
	n.Set = make(map[string]json.RawMessage)
	n.Append = make(map[string][]json.RawMessage)
	for i, c := range r.view.cells {
		ch := &r.g.spec.Channels[i]
		var err error
		switch {
		case !c.ok:
		case ch.Append:
			n.Append[ch.Name], err = ch.items(c.value)
		default:
			n.Set[ch.Name], err = encode(ch.Type, c.value)
		}
		if err != nil {
			return &UpdateError{Channel: ch.Name, Err: err}
		}
	}
	return nil
}

func stateTasks(ts []planned) []state.Task {
	all := make([]state.Task, len(ts))
	for i := range ts {
		all[i] = ts[i].Task
	}
	return all
}
