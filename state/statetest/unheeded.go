package statetest

import (
	"testing"

	"junction/state"
)

// unheeded is about requests to stop that their holder did not live, or had no
// time, to heed.
func unheeded(t *testing.T, s state.Store) {
	// died is a thread in a status, whose holder was asked to stop and is gone.
	died := func(t *testing.T, status state.Status) string {
		t.Helper()
		th, l := running(t, s)
		must(t, s.SetStatus(t.Context(), l, status, nil, nil))
		must(t, s.RequestCancel(t.Context(), th.ID))
		l.TTL = short
		_, err := s.Renew(t.Context(), l) // for the last time
		must(t, err)
		return th.ID
	}
	next := func(t *testing.T, id string) (l state.Lease) {
		t.Helper()
		eventually(t, "lease runs out", func() (free bool) {
			var err error
			l, err = s.Acquire(t.Context(), id, "next", long)
			return err == nil
		})
		return l
	}
	t.Run("the next acquisition tells of it, whatever was read before", func(t *testing.T) {
		l := next(t, died(t, state.StatusRunning))
		equal(t, "cancelled", l.Cancelled, true)
		asked, err := s.CancelRequested(t.Context(), l.Thread)
		must(t, err)
		equal(t, "asked", asked, false) // it was not meant for this holder
	})
	t.Run("so does every acquisition until a status is recorded, and none after it", func(t *testing.T) {
		id := died(t, state.StatusRunning)
		for range 2 {
			l := next(t, id)
			equal(t, "cancelled", l.Cancelled, true)
			must(t, s.Release(t.Context(), l))
			equal(t, "status", thread(t, s, id).Status, state.StatusRunning) // it is not this lease's request
		}
		l := next(t, id)
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil))
		must(t, s.Release(t.Context(), l))
		equal(t, "cancelled", next(t, id).Cancelled, false)
	})
	t.Run("a request under a lease that cleared one is one of its own", func(t *testing.T) {
		id := died(t, state.StatusRunning)
		l := next(t, id)
		must(t, s.RequestCancel(t.Context(), id))
		must(t, s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil))
		asked, err := s.CancelRequested(t.Context(), id)
		must(t, err)
		equal(t, "asked", asked, true)
	})
	t.Run("a thread that nobody asked to stop has none to tell of", func(t *testing.T) {
		th, l := running(t, s)
		equal(t, "of a new thread", l.Cancelled, false)
		must(t, s.RequestCancel(t.Context(), th.ID))
		must(t, s.Release(t.Context(), l))
		_, err := s.Reopen(t.Context(), th.ID)
		must(t, err)
		equal(t, "of a reopened one", acquire(t, s, th.ID).Cancelled, false)
	})
	t.Run("a release carries it out, but for a thread that has ended", func(t *testing.T) {
		for before, after := range map[state.Status]state.Status{
			state.StatusPending:     state.StatusCancelled,
			state.StatusRunning:     state.StatusCancelled,
			state.StatusInterrupted: state.StatusCancelled,
			state.StatusFailed:      state.StatusFailed,
			state.StatusCompleted:   state.StatusCompleted,
		} {
			t.Run(string(before), func(t *testing.T) {
				th, l := running(t, s)
				if before == state.StatusCompleted {
					c := step(l, 1)
					c.Status = before
					commit(t, s, c)
				} else {
					must(t, s.SetStatus(t.Context(), l, before, nil, nil))
				}
				must(t, s.RequestCancel(t.Context(), th.ID))
				equal(t, "status under the lease", thread(t, s, th.ID).Status, before)
				must(t, s.Release(t.Context(), l))
				equal(t, "status", thread(t, s, th.ID).Status, after)
			})
		}
	})
	t.Run("a release that comes too late carries nothing out", func(t *testing.T) {
		th, old := running(t, s)
		must(t, s.Release(t.Context(), old))
		acquire(t, s, th.ID)
		must(t, s.RequestCancel(t.Context(), th.ID))
		must(t, s.Release(t.Context(), old))
		equal(t, "status", thread(t, s, th.ID).Status, state.StatusPending)
	})
}
