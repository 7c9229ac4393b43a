package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"junction/state"
)

// Create makes a thread and leaves it pending: its input is checked and its
// first superstep planned, as [Graph.Run] does, but nothing runs and no lease is
// taken. [Graph.Resume] runs it, in this process or in another. It sends no
// events. Its error leaves no thread, except where the store's answer was lost:
// a thread of the given id may be there then, whole.
func (g *Graph) Create(ctx context.Context, o RunOptions) (thread string, err error) {
	if o.Store == nil {
		return "", errors.New("create: no store is set; a thread that nothing keeps could never be run")
	}
	o.OnEvent = nil
	r, err := g.newThreadRun(ctx, "create", o)
	if err != nil {
		return "", err
	}
	res, err := r.supervise(func() ended {
		if err := r.create(); err != nil {
			return r.unbegun(err)
		}
		return ended{result: Result{Thread: r.id, Status: state.StatusPending}}
	})
	if err != nil {
		return "", err
	}
	return res.Thread, nil
}

// NewThreadID returns an id that no other thread has, for callers that must know
// it before the thread is made. Ids made later sort later.
func NewThreadID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("new thread id: %w", err)
	}
	return id.String(), nil
}

// newThreadRun is a run with the identity of a new thread.
func (g *Graph) newThreadRun(ctx context.Context, verb string, o RunOptions) (*run, error) {
	switch {
	case len(o.Answers) > 0:
		return nil, fmt.Errorf("%s: answers belong to Resume: a new thread has asked nothing yet", verb)
	case o.Queued:
		return nil, fmt.Errorf("%s: RunOptions.Queued belongs to Resume: a new thread is in no queue", verb)
	}
	if err := o.Busy.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	r := g.newRun(ctx, o)
	if r.id == "" {
		id, err := NewThreadID()
		if err != nil {
			return nil, err
		}
		r.id = id
	}
	r.stream.thread, r.lineage = r.id, r.id
	if r.store != nil {
		// A thread deleted and made again under the same id is another one:
		// its hops must not be taken for the old one's.
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("new lineage: %w", err)
		}
		r.lineage = id.String()
	}
	return r, nil
}

// create plans the first superstep and makes the thread with it.
func (r *run) create() error {
	cells, err := r.input()
	if err != nil {
		return err
	}
	r.view = &view{g: r.g, cells: cells}
	r.planner.begin(r, r.view, nil)
	if err := r.planner.first(); err != nil {
		return err
	}
	if r.tasks, err = r.planner.tasks(1); err != nil {
		return err
	}
	r.seq, r.arrived = 1, r.planner.arrived
	if r.store == nil {
		return nil
	}
	n, err := r.newThread()
	if err != nil {
		return err
	}
	return r.createThread(n)
}

// input is the state a run starts from: defaults, replaced by its input.
func (r *run) input() ([]cell, error) {
	cells := append([]cell(nil), r.g.initial...)
	for _, name := range slices.Sorted(maps.Keys(r.opt.Input)) {
		v := r.opt.Input[name]
		i, ok := r.g.channels[name]
		if !ok {
			return nil, &UpdateError{Channel: name, Err: errors.New("the input names a channel that does not exist; " + known((&compiler{g: r.g}).channelNames()))}
		}
		v, err := r.g.spec.Channels[i].accept(v)
		if err != nil {
			return nil, &UpdateError{Channel: name, Err: fmt.Errorf("the input: %w", err)}
		}
		cells[i] = cell{value: v, ok: true}
	}
	return cells, nil
}

// newThread is the stored form of the thread's beginning.
func (r *run) newThread() (state.NewThread, error) {
	n := state.NewThread{
		ID: r.id, Workflow: r.g.spec.Name, Version: r.g.spec.Version, Lineage: r.lineage, Meta: r.opt.Meta, Next: stateTasks(r.tasks),
	}
	if r.opt.Definition != nil {
		n.Definition = state.Hash(r.opt.Definition)
		n.Blobs = [][]byte{r.opt.Definition}
	}
	err := r.storedCells(&n)
	return n, err
}
