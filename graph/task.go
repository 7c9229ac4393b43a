package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"junction/state"
)

// ending says how a task left its superstep.
type ending int

const (
	running  ending = iota
	finished        // with an outcome
	waiting         // for answers, or at a pause
	cut             // by a sibling's failure, a drain or a cancellation: it runs again
	failed          // for good
	ignored         // it ignored the end of its context
)

// place is where a task stands; a task abandoned in one superstep must not read
// the run's own fields, which move on.
type place struct {
	step    int   // superstep under way, from 1
	seq     int64 // checkpoint it started from
	view    *view
	pending *state.Snapshot // what an earlier run of the superstep left; nil: nothing
}

// prior is what earlier runs of the superstep recorded of their hops.
func (p *place) prior() []state.Record {
	if p.pending == nil {
		return nil
	}
	return p.pending.Records
}

// task is one execution of a node in the superstep under way.
type task struct {
	planned
	run    *run
	step   *superstep
	at     place
	spec   *node
	claim  *claim // the run's guard, or own
	own    claim
	ctx    context.Context // inner, which knows the task
	inner  taskContext
	cancel context.CancelCauseFunc // nil when the task runs alone

	mu      sync.Mutex
	journal *state.Journal
	first   asking  // of the first attempt
	asking  *asking // of the attempt under way; only the task's own goroutine changes it

	ending ending
	out    outcome
	err    error
	broken error         // of the store: the run cannot go on
	held   bool          // its writes ride in the commit
	done   chan struct{} // closed when it has ended; nil when it runs alone
}

type taskKey struct{}

// taskContext gives a node's context its task without another allocation for
// each value.
type taskContext struct {
	context.Context
	task *task
}

// within gives the task its context.
func (t *task) within(ctx context.Context) {
	t.inner = taskContext{ctx, t}
	t.ctx = &t.inner
}

func (c *taskContext) Value(key any) any {
	if key == (taskKey{}) {
		return c.task
	}
	return c.Context.Value(key)
}

// execute runs the task's node, with its retries and its error handler, and
// sets how it ended. It reports false, and sets nothing, when the task was
// abandoned meanwhile.
func (t *task) execute() bool {
	t.event(Event{Kind: EventTask})
	u, handled, err := t.perform()
	if errors.Is(err, errAbandoned) {
		return false
	}
	if err == nil {
		err = t.cutShort()
	}
	if err == nil {
		if err = t.asking.unanswered(); err == nil {
			t.out, err = t.run.g.accept(t.spec, u)
			t.out.handled = handled
		}
		if err == nil && t.run.store != nil {
			err = t.run.g.encode(&t.out)
			t.warnOfLarge()
		}
	}
	t.err = err
	t.ending = t.classify(err)
	if t.ending == failed {
		t.err = t.failure(err)
	}
	t.event(Event{Kind: EventTaskDone, Err: t.err, Update: u})
	return true
}

// cutShort is the end of a node that returned as if it had finished although a
// hop of its was cut, and nobody knows what became of it: the node runs again,
// and finds out.
func (t *task) cutShort() error {
	if t.ctx.Err() == nil && !t.run.drain.begun() {
		return nil // nothing was cut: what the node makes of an error is its own affair
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal == nil || !t.journal.Undecided() {
		return nil
	}
	return fmt.Errorf("node %q went on without the outcome of a hop that was cut: %w", t.Node, state.ErrDraining)
}

// warnOfLarge tells of writes that make a thread heavy to keep and to load.
func (t *task) warnOfLarge() {
	for _, w := range t.out.writes {
		size := len(w.raw)
		for _, item := range w.items {
			size += len(item)
		}
		if size > LargeWriteLimit {
			t.event(Event{Kind: EventLargeWrite, Value: LargeWrite{Channel: t.run.g.spec.Channels[w.channel].Name, Bytes: size}})
		}
	}
}

// failure wraps what the task's node failed with.
func (t *task) failure(err error) *NodeError {
	return &NodeError{Node: t.Node, Index: t.Index, Step: t.at.step, Err: err}
}

// classify tells a failure from a pause and from work that was cut.
func (t *task) classify(err error) ending {
	switch {
	case err == nil:
		return finished
	case t.broken != nil:
		return cut
	case errors.Is(err, ErrInterrupt) && t.asking != nil && len(t.asking.waiting()) > 0:
		return waiting
	case t.ctx.Err() != nil:
		return cut
	case t.run.drain.begun() && (errors.Is(err, state.ErrDraining) || errors.Is(err, context.Canceled)):
		return cut
	case t.run.drain.failing():
		return cut // the first failure is the one that stands
	}
	return failed
}

func (t *task) input() Input {
	return Input{State: t.at.view, Task: t.Task, Item: t.item}
}

// records takes what the task's journal holds for its next store operation.
func (t *task) records() []state.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal == nil {
		return nil
	}
	return t.journal.Take()
}

// giveBack returns records whose store operation failed.
func (t *task) giveBack(records []state.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.journal != nil {
		t.journal.Return(records)
	}
}
