package graph

import (
	"errors"

	"junction/state"
	"junction/state/crash"
)

// RecordedError is what an error handler is given when the thread was resumed
// after its node had failed for good: the failure as the thread remembers it.
type RecordedError struct{ Recorded state.Failure }

func (e *RecordedError) Error() string { return e.Recorded.Message }

// Failure returns what was recorded.
func (e *RecordedError) Failure() state.Failure { return e.Recorded }

// perform runs the node and, when it has failed for good, its error handler,
// which is a task of its own: the node's failure is durable before the handler
// does anything, so that a resume goes on with the handler and never finds a
// node that succeeds after all.
func (t *task) perform() (u Update, handled *state.Failure, err error) {
	if failed := t.recordedFailure(); failed != nil {
		err = failed
	} else {
		u, err = t.attempts()
		if err == nil || t.spec.OnError == nil || !t.final(err) {
			return u, nil, err
		}
		if t.broken = t.recordFailure(err); t.broken != nil {
			return Update{}, nil, t.broken
		}
	}
	f := t.failure(err).Failure()
	in := t.input()
	in.Err = err
	u, err = t.attempt(t.spec.OnError, in, t.at.prior())
	return u, &f, err
}

// final reports whether a failure is the node's own and stands.
func (t *task) final(err error) bool {
	var update *UpdateError
	var mutation *MutationError
	var journal *state.JournalError
	return !errors.Is(err, errAbandoned) && t.classify(err) == failed &&
		!errors.As(err, &update) && !errors.As(err, &mutation) && !errors.As(err, &journal) &&
		!breaks(err) && !nondeterministic(err) && !t.undecided(err)
}

// undecided reports whether a hop of the node may have taken effect and nobody
// knows: an error handler would take a guess for a failure, and the commit after
// it would forget the question. The thread fails instead, and a resume settles
// it. An error that says Settled has been decided on by a person.
func (t *task) undecided(err error) bool {
	var decided interface {
		error
		Settled() bool
	}
	if errors.As(err, &decided) && decided.Settled() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.journal != nil && t.journal.Undecided()
}

// lost reports that the run has no right to advance the thread any more, or that
// there is none to advance.
func lost(err error) bool {
	return errors.Is(err, state.ErrLeaseLost) || errors.Is(err, state.ErrVanished) || errors.Is(err, state.ErrRegressed)
}

// breaks reports an error that ends the run rather than the node it came from:
// what the node was to do is still to be done, by whoever resumes the thread.
func breaks(err error) bool { return lost(err) || errors.Is(err, state.ErrUnavailable) }

func nondeterministic(err error) bool {
	var n *state.NondeterminismError
	return errors.As(err, &n)
}

// failureID names the stored end of a node that failed for good.
func failureID(task string) string { return identity("failure", task) }

// handlerID is the scope of a task's error handler, whose hops and questions are
// its own.
func handlerID(task string) string { return identity("handler", task) }

// recordedFailure finds the failure an earlier run of the superstep recorded;
// nil: none.
func (t *task) recordedFailure() *RecordedError {
	if t.at.pending == nil || t.spec.OnError == nil {
		return nil
	}
	w, ok := t.at.pending.Pending[failureID(t.ID)]
	if !ok || w.Handled == nil {
		return nil
	}
	return &RecordedError{*w.Handled}
}

// recordFailure makes the node's failure durable, as the writes of a task that
// wrote nothing.
func (t *task) recordFailure(cause error) error {
	if t.run.store == nil {
		return nil
	}
	f := state.FailureOf(cause)
	if f.Node == "" {
		f.Node = t.Node
	}
	records := t.records()
	crash.Point("task.failure.before")
	err := t.run.putWrites(state.TaskWrites{Task: failureID(t.ID), Handled: &f}, records)
	crash.Point("task.failure.after")
	if err != nil {
		t.giveBack(records)
	}
	return err
}
