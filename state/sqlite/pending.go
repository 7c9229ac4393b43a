package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"junction/state"
)

// PutWrites makes one task's writes durable; the first write of a task wins.
func (s *Store) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, records []state.Record) error {
	var pack packer
	rs := pack.records(records)
	w = pack.Writes(w)
	data := pack.Encode(w)
	if pack.Err != nil {
		return fmt.Errorf("thread %s: writes of task %s: %w", l.Thread, w.Task, pack.Err)
	}
	return s.underway(ctx, l, seq, &pack, rs, func(x *tx, r row) error {
		return x.exec(`INSERT INTO writes (t, task, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, r.t, w.Task, data)
	})
}

// PutInterrupt makes a question durable; one that is answered already stays.
func (s *Store) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, records []state.Record) error {
	var pack packer
	rs := pack.records(records)
	i.Value, i.Schema = pack.Value(i.Value), pack.Value(i.Schema)
	i.Answer, i.Answered = nil, time.Time{} // answers come by Answer
	pack.Encode(i)
	if pack.Err != nil {
		return fmt.Errorf("thread %s: interrupt %q: %w", l.Thread, i.ID, pack.Err)
	}
	return s.underway(ctx, l, seq, &pack, rs, func(x *tx, r row) error {
		if i.Asked.IsZero() {
			i.Asked = unixTime(x.now.UnixNano())
		}
		return x.exec(`INSERT INTO interrupts (t, id, data) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET data = excluded.data WHERE answer IS NULL`, r.t, i.ID, pack.Encode(i))
	})
}

// underway runs a write of the superstep that started from seq, with its records.
func (s *Store) underway(ctx context.Context, l state.Lease, seq int64, pack *packer, rs []packedRecord, do func(*tx, row) error) error {
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		if err := r.underway(seq); err != nil {
			return err
		}
		if err := x.putRecords(r, pack, rs); err != nil {
			return err
		}
		return do(x, r)
	})
}

// Answer stores answers by interrupt id, all or none.
func (s *Store) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	var pack packer
	packed := make(map[string]json.RawMessage, len(answers))
	for interrupt, answer := range answers {
		packed[interrupt] = pack.Value(answer)
	}
	if pack.Err != nil {
		return fmt.Errorf("thread %s: answer: %w", id, pack.Err)
	}
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.thread(id)
		if err != nil {
			return err
		}
		answered := make(map[string]bool) // of the interrupts there are
		if err := x.queryRows(`SELECT id, answer IS NOT NULL FROM interrupts WHERE t = ?`, []any{r.t}, func(scan func(...any) error) error {
			var (
				interrupt string
				done      bool
			)
			err := scan(&interrupt, &done)
			answered[interrupt] = done
			return err
		}); err != nil {
			return err
		}
		if err := state.CheckAnswers(id, answers, func(interrupt string) (bool, bool) {
			done, known := answered[interrupt]
			return known, done
		}); err != nil {
			return err
		}
		if err := pack.store(x, r.t); err != nil {
			return err
		}
		for interrupt, answer := range packed {
			if err := x.exec(`UPDATE interrupts SET answer = ?, answered = ? WHERE t = ? AND id = ?`, []byte(answer), x.now.UnixNano(), r.t, interrupt); err != nil {
				return err
			}
		}
		return x.exec(`UPDATE threads SET updated = ? WHERE t = ?`, x.now.UnixNano(), r.t)
	})
}
