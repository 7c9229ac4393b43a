package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"junction/state"
)

// CreateThread stores a thread and its first checkpoint.
func (s *Store) CreateThread(ctx context.Context, n state.NewThread) (state.Thread, error) {
	if n.ID == "" {
		return state.Thread{}, errors.New("create thread: it needs an id")
	}
	var pack packer
	change, err := state.NewChange(nil, 1, pack.Values(n.Set), pack.Items(n.Append))
	if err != nil {
		return state.Thread{}, fmt.Errorf("create thread %s: %w", n.ID, err)
	}
	first := state.Checkpoint{Thread: n.ID, Seq: 1, Lineage: n.Lineage, Source: "input", Channels: change.Channels, Next: n.Next}
	head := pack.head(first)
	for _, data := range n.Blobs {
		pack.Blob(state.Hash(data), data)
	}
	meta := pack.Encode(n.Meta)
	if pack.Err != nil {
		return state.Thread{}, fmt.Errorf("create thread %s: %w", n.ID, pack.Err)
	}
	th := state.Thread{ID: n.ID, Workflow: n.Workflow, Version: n.Version, Definition: n.Definition, Status: state.StatusPending, Head: 1}
	err = s.write.run(ctx, func(x *tx) error {
		var t int64
		err := x.queryRow(`SELECT t FROM threads WHERE id = ?`, []any{n.ID}, &t)
		if err == nil {
			return fmt.Errorf("thread %s: %w", n.ID, state.ErrExists)
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		now := x.now.UnixNano()
		th.Created = unixTime(now)
		if err := x.queryRow(`INSERT INTO threads (id, status, head, step, updated, created, workflow, version, definition, lineage, meta)
			VALUES (?, ?, 1, 0, ?, ?, ?, ?, ?, ?, ?) RETURNING t`,
			[]any{n.ID, th.Status, now, now, n.Workflow, n.Version, n.Definition, n.Lineage, meta}, &t); err != nil {
			return err
		}
		if err := pack.store(x, t); err != nil {
			return err
		}
		return x.putCommit(t, first, head, change)
	})
	if err != nil {
		return state.Thread{}, err
	}
	th.Updated = th.Created
	th.Meta = maps.Clone(n.Meta)
	return th, nil
}

// unixTime is a stored time as callers see it.
func unixTime(ns int64) time.Time { return time.Unix(0, ns).UTC() }

const threadColumns = `id, workflow, version, definition, meta, status, failure, head, step, cancel = 1, created, updated,
	(SELECT count(*) FROM interrupts i WHERE i.t = threads.t AND i.answer IS NULL)`

func scanThread(scan func(...any) error) (state.Thread, error) {
	var (
		th               state.Thread
		meta             string
		failure          sql.NullString
		created, updated int64
	)
	if err := scan(&th.ID, &th.Workflow, &th.Version, &th.Definition, &meta, &th.Status, &failure, &th.Head, &th.Step, &th.Cancel, &created, &updated, &th.Waiting); err != nil {
		return state.Thread{}, err
	}
	th.Created, th.Updated = unixTime(created), unixTime(updated)
	if failure.Valid {
		if err := json.Unmarshal([]byte(failure.String), &th.Failure); err != nil {
			return state.Thread{}, fmt.Errorf("thread %s: its failure: %w", th.ID, err)
		}
	}
	if err := json.Unmarshal([]byte(meta), &th.Meta); err != nil {
		return state.Thread{}, fmt.Errorf("thread %s: its meta: %w", th.ID, err)
	}
	return th, nil
}

// Thread returns one thread.
func (s *Store) Thread(ctx context.Context, id string) (state.Thread, error) {
	th, err := scanThread(s.read.QueryRowContext(ctx, `SELECT `+threadColumns+` FROM threads WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return state.Thread{}, notFound(id)
	}
	return th, translate(err)
}

// Threads returns the selected threads, newest first.
func (s *Store) Threads(ctx context.Context, f state.ThreadFilter) ([]state.Thread, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT `+threadColumns+` FROM threads
		WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR workflow = ?2) ORDER BY t DESC LIMIT ?3`, f.Status, f.Workflow, noLimit(f.Limit))
	var out []state.Thread
	err = eachRow(rows, err, func(scan func(...any) error) error {
		th, err := scanThread(scan)
		out = append(out, th)
		return err
	})
	if err != nil {
		return nil, translate(err)
	}
	return out, nil
}

// noLimit turns our 0 into SQL's −1.
func noLimit(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// RequestCancel asks whoever runs the thread to stop.
func (s *Store) RequestCancel(ctx context.Context, id string) error {
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.thread(id)
		if err != nil || r.status == state.StatusCompleted {
			return err
		}
		if !r.lease.live(x.now, s.self) {
			r.status = state.StatusCancelled
		}
		return x.exec(`UPDATE threads SET cancel = 1, status = ?, updated = ? WHERE t = ?`, r.status, x.now.UnixNano(), r.t)
	})
}

// Reopen makes a stopped thread that nobody runs pending.
func (s *Store) Reopen(ctx context.Context, id string) (state.Thread, error) {
	var th state.Thread
	err := s.write.run(ctx, func(x *tx) error {
		r, err := x.thread(id)
		if err != nil {
			return err
		}
		if r.status.Stopped() && !r.lease.live(x.now, s.self) {
			if err := x.exec(`UPDATE threads SET status = ?, cancel = 0, failure = NULL, updated = ? WHERE t = ?`,
				state.StatusPending, x.now.UnixNano(), r.t); err != nil {
				return err
			}
		}
		th, err = scanThread(func(into ...any) error {
			return x.queryRow(`SELECT `+threadColumns+` FROM threads WHERE t = ?`, []any{r.t}, into...)
		})
		return err
	})
	return th, err
}

// CancelRequested says whether the thread was asked to stop.
func (s *Store) CancelRequested(ctx context.Context, id string) (asked bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT cancel = 1 FROM threads WHERE id = ?`, id).Scan(&asked)
	if errors.Is(err, sql.ErrNoRows) {
		return false, notFound(id)
	}
	return asked, translate(err)
}

// SetStatus records a stop, or that work begins again.
func (s *Store) SetStatus(ctx context.Context, l state.Lease, status state.Status, f *state.Failure, records []state.Record) error {
	var pack packer
	rs := pack.records(records)
	if status == state.StatusRunning {
		f = nil
	}
	var failure any // NULL
	if f != nil {
		failure = pack.Encode(f)
	}
	if pack.Err != nil {
		return fmt.Errorf("thread %s: %w", l.Thread, pack.Err)
	}
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		if err := x.putRecords(r, &pack, rs); err != nil {
			return err
		}
		if r.status == state.StatusCompleted {
			return nil
		}
		return x.exec(`UPDATE threads SET status = ?1, failure = ?2, updated = ?3, cancel = cancel % 2 WHERE t = ?4`,
			status, failure, x.now.UnixNano(), r.t)
	})
}
