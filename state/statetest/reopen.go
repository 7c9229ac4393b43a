package statetest

import (
	"testing"

	"junction/state"
)

func reopens(t *testing.T, s state.Store) {
	t.Run("a stopped thread becomes pending, without what stopped it", func(t *testing.T) {
		for _, status := range []state.Status{state.StatusInterrupted, state.StatusFailed, state.StatusCancelled} {
			th, l := running(t, s)
			must(t, s.SetStatus(t.Context(), l, status, &state.Failure{Code: "x"}, nil))
			must(t, s.RequestCancel(t.Context(), th.ID))
			must(t, s.Release(t.Context(), l))
			got, err := s.Reopen(t.Context(), th.ID)
			must(t, err)
			if got.Status != state.StatusPending || got.Failure != nil || got.Cancel {
				t.Errorf("%s: reopened as %+v", status, got)
			}
			equal(t, "thread", thread(t, s, th.ID), got)
		}
	})
	t.Run("what was asked and answered stays", func(t *testing.T) {
		th, l := running(t, s)
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "q", Value: raw(`1`)}, nil))
		must(t, s.PutInterrupt(t.Context(), l, 1, state.Interrupt{ID: "r", Value: raw(`2`)}, nil))
		must(t, s.SetStatus(t.Context(), l, state.StatusInterrupted, nil, nil))
		must(t, s.Release(t.Context(), l))
		must(t, s.Answer(t.Context(), th.ID, rawMap("q", `true`)))
		got, err := s.Reopen(t.Context(), th.ID)
		must(t, err)
		if got.Status != state.StatusPending || got.Waiting != 1 {
			t.Errorf("reopened as %+v", got)
		}
		equal(t, "answer", load(t, s, th.ID, 0).Interrupts[0].Answer, raw(`true`))
	})
	t.Run("a thread that somebody runs, or that is not stopped, stays as it is", func(t *testing.T) {
		pending := create(t, s)
		held, l := running(t, s)
		must(t, s.SetStatus(t.Context(), l, state.StatusFailed, &state.Failure{Code: "x"}, nil))
		done, dl := running(t, s)
		c := step(dl, 1)
		c.Status = state.StatusCompleted
		commit(t, s, c)
		must(t, s.Release(t.Context(), dl))
		for _, id := range []string{pending.ID, held.ID, done.ID} {
			before := thread(t, s, id)
			got, err := s.Reopen(t.Context(), id)
			must(t, err)
			equal(t, "returned", got, before)
			equal(t, "thread", thread(t, s, id), before)
		}
	})
	t.Run("an unknown thread is not found", func(t *testing.T) {
		_, err := s.Reopen(t.Context(), newID())
		wantErr(t, err, state.ErrNotFound)
	})
}
