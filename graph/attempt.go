package graph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

// attempts runs the node until it succeeds, or may not be run again.
func (t *task) attempts() (Update, error) {
	prior := t.at.prior()
	for n := 1; ; n++ {
		u, err := t.attempt(t.spec.Run, t.input(), prior)
		if err == nil || !t.again(n, err) {
			return u, err
		}
		t.event(Event{Kind: EventRetry, Err: err, Attempt: n + 1})
		if !t.wait(t.spec.Retry.delay(t.ID, n)) {
			return u, fmt.Errorf("%w: not run again after: %w", state.ErrDraining, err)
		}
		prior = nil // the journal before this one knows it all
	}
}

// attempt runs f once, under a journal of its own and the node's timeout.
func (t *task) attempt(f Func, in Input, prior []state.Record) (Update, error) {
	if err := t.ctx.Err(); err != nil {
		return Update{}, context.Cause(t.ctx)
	}
	ctx := t.open(in, prior)
	check := t.run.opt.Check
	var before []string
	if check {
		before = t.fingerprints(in)
	}
	u, err := t.bounded(ctx, f, in)
	if errors.Is(err, errAbandoned) {
		return u, err
	}
	if check {
		if changed := t.changed(before, in); len(changed) > 0 {
			return u, errors.Join(&MutationError{Channels: changed}, err)
		}
	}
	return u, err
}

// open gives the attempt its journal; one before it hands over what it knows
// and what waits in it.
func (t *task) open(in Input, prior []state.Record) context.Context {
	r := t.run
	scope := state.Scope{Thread: r.id, Lineage: r.lineage, Seq: t.at.seq, Step: t.at.step, Task: t.ID, Node: t.Node}
	if in.Err != nil {
		scope.Task = handlerID(t.ID)
	}
	a := &t.first
	if t.asking != nil {
		a = new(asking)
	}
	a.task, a.scope = t, scope.Task
	t.asking = a
	o := state.JournalOptions{Prior: prior, Ask: a.ask}
	if r.store != nil {
		o.Store, o.Lease, o.Live = hopStore{r.store, r}, r.lease.current, a.askLive
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var waits []state.Record
	if t.journal != nil {
		waits = t.journal.Take()
		o.Prior = append(t.journal.Known(), prior...)
	}
	j := state.NewJournal(scope, o)
	if len(waits) > 0 {
		j.Return(waits)
	}
	t.journal = j
	if r.drain.begun() {
		j.Drain()
	}
	return state.WithJournal(t.ctx, j)
}

// bounded runs f. With a timeout it runs on a goroutine of its own, so that one
// which ignores its context can be left behind.
func (t *task) bounded(ctx context.Context, f Func, in Input) (Update, error) {
	if t.spec.Timeout == 0 {
		return t.inside(ctx, f, in)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.spec.Timeout, &TimeoutError{Node: t.Node, Timeout: t.spec.Timeout})
	defer cancel()
	return t.timed(ctx, f, in)
}

// timed runs f on a goroutine of its own until it returns, or until the grace
// after its context's end is over.
func (t *task) timed(ctx context.Context, f Func, in Input) (Update, error) {
	type result struct {
		u   Update
		err error
	}
	back := make(chan result, 1)
	go func() {
		res := result{err: errGoexit}
		defer func() { back <- res }()
		res.u, res.err = shielded(ctx, f, in)
	}()
	select {
	case res := <-back:
		return res.u, t.timedOut(ctx, res.err)
	case <-ctx.Done():
	}
	grace := time.NewTimer(t.run.grace())
	defer grace.Stop()
	select {
	case res := <-back:
		return res.u, t.timedOut(ctx, res.err)
	case <-grace.C:
		t.drainJournal() // nothing it still does may reach a server
		t.run.abandoned.Add(1)
		return Update{}, context.Cause(ctx)
	}
}

// timedOut says that an attempt ended by its own timeout.
func (t *task) timedOut(ctx context.Context, err error) error {
	var timeout *TimeoutError
	if err == nil || errors.Is(err, ErrInterrupt) || !errors.As(context.Cause(ctx), &timeout) {
		return err
	}
	return &TimeoutError{Node: t.Node, Timeout: t.spec.Timeout, Err: err}
}

// inside runs f on this goroutine, under the task's claim.
func (t *task) inside(ctx context.Context, f Func, in Input) (Update, error) {
	t.claim.enter()
	u, err := shielded(ctx, f, in)
	if !t.claim.leave() {
		return Update{}, errAbandoned
	}
	return u, err
}
