package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"junction/state"
)

// row is what a write needs to know of its thread.
type row struct {
	t, head int64
	id      string
	status  state.Status
	cancel  int // see schema.sql
	writeID string
	lineage string
	lease   lease
}

// lease is a lease as the file holds it; times in ns.
type lease struct {
	token        int64
	held         bool
	granted, ttl int64
	owner        string
	process      process
}

// remaining is what is left of the lease's time. A clock that stands before the
// grant has stepped back: all of the lease's time is left then, never more.
func (l lease) remaining(now time.Time) time.Duration {
	if !l.held {
		return 0
	}
	return time.Duration(l.ttl - max(0, now.UnixNano()-l.granted))
}

// live says whether someone holds the thread, as far as can be known.
func (l lease) live(now time.Time, self process) bool {
	return l.remaining(now) > 0 && !l.process.gone(self)
}

const rowColumns = `t, id, head, status, cancel, write_id, lineage, token, held, granted, ttl, owner, pid, started, world`

func (r *row) fields() []any {
	l := &r.lease
	return []any{&r.t, &r.id, &r.head, &r.status, &r.cancel, &r.writeID, &r.lineage, &l.token, &l.held, &l.granted, &l.ttl, &l.owner, &l.process.pid, &l.process.started, &l.process.world}
}

// thread reads a thread's row, or ErrNotFound.
func (x *tx) thread(id string) (row, error) {
	var r row
	err := x.queryRow(`SELECT `+rowColumns+` FROM threads WHERE id = ?`, []any{id}, r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, notFound(id)
	}
	return r, err
}

// leased reads the row of a lease's thread, which is lost when there is none.
func (x *tx) leased(l state.Lease) (row, error) {
	r, err := x.thread(l.Thread)
	if errors.Is(err, state.ErrNotFound) {
		err = state.Vanished(l)
	}
	return r, err
}

// held reads the row of a lease's thread and checks the lease.
func (x *tx) held(l state.Lease) (row, error) {
	r, err := x.leased(l)
	if err != nil {
		return row{}, err
	}
	return r, r.lease.check(l, x.now)
}

// check reports ErrLeaseLost unless of is the lease that stands.
func (l lease) check(of state.Lease, now time.Time) error {
	switch {
	case l.token != of.Token:
		return state.LostLease(of, "another worker has taken the thread since")
	case !l.held:
		return state.LostLease(of, "it was released")
	case l.remaining(now) <= 0:
		return state.LostLease(of, "it ran out")
	}
	return nil
}

// underway checks that seq is the checkpoint the superstep under way started from.
func (r row) underway(seq int64) error {
	if seq != r.head {
		return fmt.Errorf("thread %s: %w: its head is %d, not %d", r.id, state.ErrConflict, r.head, seq)
	}
	return nil
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, state.ErrNotFound) }

// Acquire takes a free or expired lease, or one whose owner's process has
// ended; else it fails with *state.BusyError.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(id, ttl); err != nil {
		return state.Lease{}, err
	}
	var (
		token    int64
		unheeded int
	)
	err := s.write.run(ctx, func(x *tx) error {
		r, err := x.thread(id)
		if err != nil {
			return err
		}
		if r.lease.live(x.now, s.self) {
			return x.busy(r)
		}
		if unheeded = 0; r.cancel != 0 {
			unheeded = 2
		}
		if err := x.queryRow(`UPDATE tokens SET last = last + 1 RETURNING last`, nil, &token); err != nil {
			return err
		}
		return x.exec(`UPDATE threads SET cancel = ?, token = ?, held = 1, granted = ?, ttl = ?, owner = ?, pid = ?, started = ?, world = ? WHERE t = ?`,
			unheeded, token, x.now.UnixNano(), int64(ttl), owner, s.self.pid, s.self.started, s.self.world, r.t)
	})
	if err != nil {
		return state.Lease{}, err
	}
	l := state.Grant(id, token, owner, ttl, asked)
	l.Cancelled = unheeded != 0
	return l, nil
}

// busy is the error for a live lease. When the clock has stepped back behind
// the grant, the lease's time begins anew now: that is written down although
// the caller gets an error, or the lease would last as long as the step.
func (x *tx) busy(r row) error {
	busy := &state.BusyError{Thread: r.id, Owner: r.lease.owner, Remaining: r.lease.remaining(x.now)}
	if now := x.now.UnixNano(); now < r.lease.granted {
		if err := x.exec(`UPDATE threads SET granted = ? WHERE t = ?`, now, r.t); err != nil {
			return err
		}
		return kept{busy}
	}
	return busy
}

// Renew extends a lease that is still held.
func (s *Store) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(l.Thread, l.TTL); err != nil {
		return state.Lease{}, err
	}
	err := s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		return x.exec(`UPDATE threads SET granted = ?, ttl = ? WHERE t = ?`, x.now.UnixNano(), int64(l.TTL), r.t)
	})
	if err != nil {
		return state.Lease{}, err
	}
	return state.Grant(l.Thread, l.Token, l.Owner, l.TTL, asked), nil
}

// Release ends a lease; one that is lost already is no error.
func (s *Store) Release(ctx context.Context, l state.Lease) error {
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if errors.Is(err, state.ErrLeaseLost) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.cancel == 1 && r.status.HeedsCancel() {
			if err := x.exec(`UPDATE threads SET status = ?, updated = ? WHERE t = ?`, state.StatusCancelled, x.now.UnixNano(), r.t); err != nil {
				return err
			}
		}
		return x.exec(`UPDATE threads SET held = 0 WHERE t = ?`, r.t)
	})
}
