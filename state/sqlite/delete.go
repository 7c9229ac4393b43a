package sqlite

import (
	"context"

	"junction/state"
)

// pruneBatch is how many threads one transaction of Prune looks at, so that
// other writers are not kept waiting.
const pruneBatch = 100

// DeleteThread removes a thread and everything that belongs to it.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.thread(id)
		if err != nil {
			return err
		}
		if r.lease.live(x.now, s.self) {
			return x.busy(r)
		}
		return x.delete(r.t)
	})
}

// delete leaves no row of a thread.
func (x *tx) delete(t int64) error {
	if err := x.exec(`DELETE FROM commits WHERE id BETWEEN ? AND ?`, commitKey(t, 0), commitKey(t, maxSeq)); err != nil {
		return err
	}
	for _, table := range []string{"threads", "writes", "interrupts", "results", "records", "sessions", "blobs"} {
		if err := x.exec(`DELETE FROM `+table+` WHERE t = ?`, t); err != nil {
			return err
		}
	}
	return nil
}

// Prune deletes the threads retention says, a few in each transaction.
func (s *Store) Prune(ctx context.Context, r state.Retention) (int, error) {
	var (
		total int
		after int64 // threads up to this one have been looked at
	)
	for done := false; !done; {
		var n int
		err := s.write.run(ctx, func(x *tx) error {
			n = 0
			due, seen, last, err := x.due(r, after, s.self)
			if err != nil {
				return err
			}
			done, after = seen < pruneBatch, last
			for _, t := range due {
				if err := x.delete(t); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// due looks at the next stopped threads after a thread: which of them are to be
// deleted, how many it saw, and the last of them.
func (x *tx) due(r state.Retention, after int64, self process) (due []int64, seen int, last int64, err error) {
	last = after
	err = x.queryRows(`SELECT updated, `+rowColumns+` FROM threads
		WHERE t > ? AND status IN ('completed', 'failed', 'cancelled', 'interrupted') ORDER BY t LIMIT ?`, []any{after, pruneBatch},
		func(scan func(...any) error) error {
			var (
				updated int64
				th      row
			)
			if err := scan(append([]any{&updated}, th.fields()...)...); err != nil {
				return err
			}
			seen++
			last = th.t
			if r.Due(th.status, x.now.Sub(unixTime(updated))) && !th.lease.live(x.now, self) {
				due = append(due, th.t)
			}
			return nil
		})
	return due, seen, last, err
}
