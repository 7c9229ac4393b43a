package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"junction/state"
)

// view is a consistent look at one thread: everything in it is read from the
// same moment.
type view struct {
	ctx     context.Context
	tx      *sql.Tx
	id      string
	t, head int64
	lineage string
	unpack  state.Unpacker
}

// look calls do with a view of a thread, or fails with ErrNotFound.
func (s *Store) look(ctx context.Context, id string, do func(*view) error) (err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err)
	}
	defer func() { err = endRead(tx, err) }()
	v := &view{ctx: ctx, tx: tx, id: id}
	v.unpack.Fetch = func(hash string) ([]byte, error) {
		return readBlob(hash, tx.QueryRowContext(ctx, `SELECT data FROM blobs WHERE t = ? AND hash = ?`, v.t, hash).Scan)
	}
	err = tx.QueryRowContext(ctx, `SELECT t, head, lineage FROM threads WHERE id = ?`, id).Scan(&v.t, &v.head, &v.lineage)
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(id)
	}
	if err != nil {
		return translate(err)
	}
	if err := do(v); err != nil {
		return fmt.Errorf("thread %s: %w", id, translate(err))
	}
	return nil
}

// endRead ends a transaction that has nothing to commit; one whose context has
// ended is over already.
func endRead(tx *sql.Tx, err error) error {
	if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
		return errors.Join(err, undo)
	}
	return err
}

func (v *view) each(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := v.tx.QueryContext(v.ctx, query, args...)
	return eachRow(rows, err, each)
}

// Load returns a checkpoint with its values; 0 is the head.
func (s *Store) Load(ctx context.Context, id string, seq int64) (state.Snapshot, error) {
	snap := state.Snapshot{Values: make(map[string]json.RawMessage), Logs: make(map[string][]json.RawMessage)}
	err := s.look(ctx, id, func(v *view) error {
		if seq == 0 {
			seq = v.head
		}
		if seq < 1 || seq > v.head {
			return fmt.Errorf("checkpoint %d: %w", seq, state.ErrNotFound)
		}
		var text []byte
		if err := v.tx.QueryRowContext(ctx, `SELECT head FROM commits WHERE id = ?`, commitKey(v.t, seq)).Scan(&text); err != nil {
			return err
		}
		var err error
		if snap.Checkpoint, err = decodeHead(id, v.lineage, seq, text, &v.unpack); err != nil {
			return err
		}
		if err := errors.Join(v.values(&snap), v.logs(&snap)); err != nil {
			return err
		}
		if seq == v.head {
			return errors.Join(v.writes(&snap), v.interrupts(&snap), v.records(&snap))
		}
		return nil
	})
	if err != nil {
		return state.Snapshot{}, err
	}
	return snap, nil
}

// values reads the last values from the commits that set them.
func (v *view) values(snap *state.Snapshot) error {
	wanted := make(map[int64]bool)
	for _, ref := range snap.Channels {
		if !ref.Log {
			wanted[ref.Set] = true
		}
	}
	for set := range wanted {
		var vals []byte
		if err := v.tx.QueryRowContext(v.ctx, `SELECT vals FROM commits WHERE id = ?`, commitKey(v.t, set)).Scan(&vals); err != nil {
			return fmt.Errorf("values of checkpoint %d: %w", set, err)
		}
		err := state.Unframe(vals, func(channel string, values []json.RawMessage) (err error) {
			if ref, ok := snap.Channels[channel]; ok && !ref.Log && ref.Set == set && len(values) == 1 {
				snap.Values[channel], err = v.unpack.Value(values[0])
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("values of checkpoint %d: %w", set, err)
		}
	}
	for channel, ref := range snap.Channels {
		if _, ok := snap.Values[channel]; !ok && !ref.Log {
			return fmt.Errorf("%w: channel %q has no value at checkpoint %d", state.ErrCorrupt, channel, ref.Set)
		}
	}
	return nil
}

// logs reads the items of append channels from the commits that added them.
func (v *view) logs(snap *state.Snapshot) error {
	first := snap.Seq + 1
	for channel, ref := range snap.Channels {
		if ref.Log {
			snap.Logs[channel] = make([]json.RawMessage, 0, ref.Len)
			first = min(first, ref.Set)
		}
	}
	var (
		seq  int64
		logs []byte
	)
	err := v.each(`SELECT id, logs FROM commits WHERE id BETWEEN ? AND ? AND logs IS NOT NULL ORDER BY id`,
		[]any{commitKey(v.t, first), commitKey(v.t, snap.Seq)}, func(scan func(...any) error) error {
			logs = nil // the values read before stay with the snapshot
			if err := scan(&seq, &logs); err != nil {
				return err
			}
			seq &= maxSeq
			return state.Unframe(logs, func(channel string, items []json.RawMessage) error {
				ref, ok := snap.Channels[channel]
				if !ok || !ref.Log || seq < ref.Set {
					return nil // of an earlier generation
				}
				for i := range items {
					if err := v.unpack.In(&items[i]); err != nil {
						return err
					}
				}
				snap.Logs[channel] = append(snap.Logs[channel], items...)
				return nil
			})
		})
	if err != nil {
		return fmt.Errorf("append channels of checkpoint %d: %w", snap.Seq, err)
	}
	for channel, ref := range snap.Channels {
		if ref.Log && len(snap.Logs[channel]) != ref.Len {
			return fmt.Errorf("%w: channel %q has %d items at checkpoint %d, not %d", state.ErrCorrupt, channel, len(snap.Logs[channel]), snap.Seq, ref.Len)
		}
	}
	return nil
}

func (v *view) writes(snap *state.Snapshot) error {
	snap.Pending = make(map[string]state.TaskWrites)
	return v.each(`SELECT data FROM writes WHERE t = ?`, []any{v.t}, func(scan func(...any) error) error {
		var (
			text []byte
			w    state.TaskWrites
		)
		if err := scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &w); err != nil {
			return fmt.Errorf("writes: %w: %w", state.ErrCorrupt, err)
		}
		for i := range w.Writes {
			if err := v.unpack.In(&w.Writes[i].Value); err != nil {
				return err
			}
		}
		for i := range w.Goto {
			if err := v.unpack.In(&w.Goto[i].Item); err != nil {
				return err
			}
		}
		snap.Pending[w.Task] = w
		return nil
	})
}

func (v *view) interrupts(snap *state.Snapshot) error {
	err := v.each(`SELECT data, answer, answered FROM interrupts WHERE t = ?`, []any{v.t}, func(scan func(...any) error) error {
		var (
			text, answer []byte
			answered     sql.NullInt64
			i            state.Interrupt
		)
		if err := scan(&text, &answer, &answered); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &i); err != nil {
			return fmt.Errorf("interrupt: %w: %w", state.ErrCorrupt, err)
		}
		if answered.Valid {
			i.Answer, i.Answered = answer, unixTime(answered.Int64)
		}
		for _, value := range []*json.RawMessage{&i.Value, &i.Schema, &i.Answer} {
			if err := v.unpack.In(value); err != nil {
				return err
			}
		}
		snap.Interrupts = append(snap.Interrupts, i)
		return nil
	})
	slices.SortFunc(snap.Interrupts, func(a, b state.Interrupt) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	})
	return err
}

func (v *view) records(snap *state.Snapshot) error {
	err := v.each(selectRecords+` WHERE records.t = ? AND seq = ?`, []any{v.t, snap.Seq}, func(scan func(...any) error) error {
		r, err := scanRecord(scan, func(int64) *state.Unpacker { return &v.unpack })
		snap.Records = append(snap.Records, r)
		return err
	})
	state.SortRecords(snap.Records)
	return err
}

// Checkpoints returns checkpoints without values, newest first.
func (s *Store) Checkpoints(ctx context.Context, id string, before int64, limit int) ([]state.Checkpoint, error) {
	var out []state.Checkpoint
	err := s.look(ctx, id, func(v *view) error {
		last := v.head
		if before > 0 {
			last = min(last, before-1)
		}
		return v.each(`SELECT id, head FROM commits WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?`,
			[]any{commitKey(v.t, 1), commitKey(v.t, last), noLimit(limit)}, func(scan func(...any) error) error {
				var (
					key  int64
					text []byte
				)
				if err := scan(&key, &text); err != nil {
					return err
				}
				cp, err := decodeHead(id, v.lineage, key&maxSeq, text, &v.unpack)
				out = append(out, cp)
				return err
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
