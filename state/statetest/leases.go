package statetest

import (
	"errors"
	"testing"
	"time"

	"junction/state"
)

func leases(t *testing.T, s state.Store) {
	t.Run("a held lease names its holder and the time that remains", func(t *testing.T) {
		th, l := running(t, s)
		_, err := s.Acquire(t.Context(), th.ID, "other", long)
		var busy *state.BusyError
		if !errors.As(err, &busy) || !errors.Is(err, state.ErrBusy) {
			t.Fatalf("error is %v", err)
		}
		if busy.Owner != "worker" || busy.Thread != th.ID || busy.Remaining <= 0 || busy.Remaining > long {
			t.Errorf("busy is %+v", busy)
		}
		_, err = s.Acquire(t.Context(), th.ID, "worker", long)
		wantErr(t, err, state.ErrBusy) // its own name is no key
		must(t, s.Release(t.Context(), l))
	})
	t.Run("tokens rise with every acquisition", func(t *testing.T) {
		th := create(t, s)
		var last int64
		for range 4 {
			l := acquire(t, s, th.ID)
			if l.Token <= last {
				t.Fatalf("token %d after %d", l.Token, last)
			}
			last = l.Token
			must(t, s.Release(t.Context(), l))
		}
	})
	t.Run("the holder's end lies before the store's", func(t *testing.T) {
		asked := time.Now()
		_, l := running(t, s)
		if latest := time.Now().Add(long - state.LeaseMargin(long)); l.Until.Before(asked) || l.Until.After(latest) {
			t.Errorf("until %v, want within (%v, %v]", l.Until, asked, latest)
		}
		equal(t, "owner and TTL", []any{l.Owner, l.TTL}, []any{"worker", long})
	})
	t.Run("a lease runs out on the store's clock", func(t *testing.T) {
		th := create(t, s)
		old, err := s.Acquire(t.Context(), th.ID, "worker", short)
		must(t, err)
		eventually(t, "lease runs out", func() bool {
			l, err := s.Acquire(t.Context(), th.ID, "second", long)
			return err == nil && l.Token > old.Token
		})
		_, err = s.Renew(t.Context(), old)
		wantErr(t, err, state.ErrLeaseLost)
	})
	t.Run("a renewed lease lives on", func(t *testing.T) {
		th := create(t, s)
		l, err := s.Acquire(t.Context(), th.ID, "worker", short)
		must(t, err)
		l.TTL = long
		renewed, err := s.Renew(t.Context(), l)
		must(t, err)
		equal(t, "token", renewed.Token, l.Token)
		if !renewed.Until.After(l.Until) {
			t.Errorf("until %v is not after %v", renewed.Until, l.Until)
		}
		var busy *state.BusyError
		_, err = s.Acquire(t.Context(), th.ID, "other", long)
		if !errors.As(err, &busy) || busy.Remaining <= short {
			t.Fatalf("error is %v, want busy for more than %v", err, short)
		}
	})
	t.Run("releasing a lost lease is no error and frees nothing", func(t *testing.T) {
		th, first := running(t, s)
		must(t, s.Release(t.Context(), first))
		second := acquire(t, s, th.ID)
		must(t, s.Release(t.Context(), first))
		_, err := s.Acquire(t.Context(), th.ID, "other", long)
		wantErr(t, err, state.ErrBusy)
		must(t, s.Release(t.Context(), second))
		must(t, s.Release(t.Context(), second))
	})
	t.Run("a lease needs a time to live", func(t *testing.T) {
		th := create(t, s)
		if _, err := s.Acquire(t.Context(), th.ID, "w", 0); err == nil {
			t.Fatal("took a lease of no time")
		}
	})
}

// fenced are all the operations that take a lease.
func fenced(t *testing.T, s state.Store, l state.Lease) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"commit":    func() error { _, err := s.Commit(ctx, step(l, 1)); return err },
		"writes":    func() error { return s.PutWrites(ctx, l, 1, state.TaskWrites{Task: "late"}, nil) },
		"interrupt": func() error { return s.PutInterrupt(ctx, l, 1, state.Interrupt{ID: "late", Value: raw(`1`)}, nil) },
		"records":   func() error { return s.PutRecords(ctx, l, []state.Record{record("late", 1)}) },
		"status":    func() error { return s.SetStatus(ctx, l, state.StatusFailed, nil, nil) },
		"blob":      func() error { _, err := s.PutBlob(ctx, l, []byte("late")); return err },
		"session":   func() error { return s.PutSession(ctx, l, state.Session{ID: "late"}) },
		"renew":     func() error { _, err := s.Renew(ctx, l); return err },
	}
}

func fencing(t *testing.T, s state.Store) {
	unchanged := func(t *testing.T, th state.Thread, l state.Lease) {
		t.Helper()
		for name, op := range fenced(t, s, l) {
			if err := op(); !errors.Is(err, state.ErrLeaseLost) {
				t.Errorf("%s: error is %v, want lease lost", name, err)
			}
		}
		snap := load(t, s, th.ID, 0)
		if snap.Seq != 1 || len(snap.Pending)+len(snap.Interrupts)+len(snap.Records) > 0 {
			t.Errorf("a fenced operation left %+v", snap)
		}
		equal(t, "thread", thread(t, s, th.ID), th)
	}
	t.Run("after another acquisition nothing changes", func(t *testing.T) {
		th, old := running(t, s)
		must(t, s.Release(t.Context(), old))
		acquire(t, s, th.ID)
		unchanged(t, th, old)
	})
	t.Run("after a release nothing changes", func(t *testing.T) {
		th, old := running(t, s)
		must(t, s.Release(t.Context(), old))
		unchanged(t, th, old)
	})
	t.Run("after it ran out nothing changes, though nobody took it", func(t *testing.T) {
		th := create(t, s)
		old, err := s.Acquire(t.Context(), th.ID, "worker", time.Millisecond)
		must(t, err)
		eventually(t, "lease runs out", func() bool {
			_, err := s.Renew(t.Context(), state.Lease{Thread: old.Thread, Token: old.Token, Owner: old.Owner, TTL: time.Millisecond})
			return errors.Is(err, state.ErrLeaseLost)
		})
		unchanged(t, th, old)
	})
	t.Run("a token that was never given is refused", func(t *testing.T) {
		th := create(t, s)
		unchanged(t, th, state.Lease{Thread: th.ID, Owner: "nobody", TTL: long})
	})
	t.Run("the lease of a deleted thread does not open its successor", func(t *testing.T) {
		th, old := running(t, s)
		must(t, s.Release(t.Context(), old))
		must(t, s.DeleteThread(t.Context(), th.ID))
		_, err := s.Commit(t.Context(), step(old, 1))
		wantErr(t, err, state.ErrLeaseLost)
		wantErr(t, err, state.ErrVanished)
		_, err = s.CreateThread(t.Context(), state.NewThread{ID: th.ID, Workflow: "again"})
		must(t, err)
		acquire(t, s, th.ID)
		_, err = s.Commit(t.Context(), step(old, 1))
		wantErr(t, err, state.ErrLeaseLost)
	})
}
