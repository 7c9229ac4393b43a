package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

// While a call waits for the answer to a question the store is asked for it this
// often at first, and at last: the time grows by half each time.
const (
	liveFirst = 100 * time.Millisecond
	liveMost  = time.Second
)

// withdrawWithin bounds how long taking a question back may take.
const withdrawWithin = 5 * time.Second

// askLive is the attempt's state.Ask for a question whose asker waits. It is
// stored at once, so that it can be answered from any process, and is taken back
// when nobody has answered it by the end of ctx.
func (a *asking) askLive(ctx context.Context, name string, question, schema any) (json.RawMessage, error) {
	t := a.task
	i := state.Interrupt{ID: questionID(a.scope, name, 0), Task: t.ID, Node: t.Node, Live: true}
	var err error
	if i.Value, err = encodeAny(question); err != nil {
		return nil, fmt.Errorf("node %q: the question: %w", t.Node, err)
	}
	if schema != nil {
		if i.Schema, err = encodeAny(schema); err != nil {
			return nil, fmt.Errorf("node %q: the schema of the answer: %w", t.Node, err)
		}
		if err := checkSchema(i.Schema); err != nil {
			return nil, fmt.Errorf("node %q: the schema of the answer: %w", t.Node, err)
		}
	}
	r := t.run
	err = r.repeatedIn(ctx, func(ctx context.Context) error {
		return r.store.PutInterrupt(ctx, r.lease.current(), t.at.seq, i, nil)
	})
	if err != nil {
		return nil, err
	}
	t.event(Event{Kind: EventInterrupt, Value: i})
	answer, err := r.awaitAnswer(ctx, i.ID)
	if err != nil {
		return nil, errors.Join(err, r.withdraw(ctx, i.ID))
	}
	return answer, nil
}

// awaitAnswer looks for an answer until ctx ends. It reads the superstep under way
// only when something about the thread has changed.
func (r *run) awaitAnswer(ctx context.Context, id string) (json.RawMessage, error) {
	pause := liveFirst
	var seen time.Time
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		pause = min(pause+pause/2, liveMost)
		timer.Reset(pause)
		th, err := r.store.Thread(ctx, r.id)
		if err != nil || th.Updated.Equal(seen) {
			if err != nil && settledError(err) && ctx.Err() == nil {
				return nil, err
			}
			continue // trouble that may pass: the call's own clock ends the wait
		}
		snap, err := r.store.Load(ctx, r.id, 0)
		if err != nil {
			if settledError(err) && ctx.Err() == nil {
				return nil, err
			}
			continue
		}
		seen = th.Updated
		if i, ok := asked(&snap, id); ok && i.Answer != nil {
			return i.Answer, nil
		}
	}
}

// withdraw takes a question back: it counts as answered, by nobody. Whoever
// answered just before came too late.
func (r *run) withdraw(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin)
	defer cancel()
	err := r.store.Answer(ctx, r.id, map[string]json.RawMessage{id: json.RawMessage("null")})
	if errors.Is(err, state.ErrAnswered) || errors.Is(err, state.ErrNotFound) {
		return nil
	}
	return err
}
