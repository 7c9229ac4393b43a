package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"junction/state"
)

// packedRecord is a record as it goes into a transaction.
type packedRecord struct {
	state.Record
	result json.RawMessage // packed
}

// records packs results; everything else of a record is encoded once its
// thread's row and the record it replaces are known.
func (p *packer) records(records []state.Record) []packedRecord {
	out := make([]packedRecord, len(records))
	for i, r := range records {
		if r.Decision != nil && !json.Valid(r.Decision) {
			p.Fail(fmt.Errorf("record of hop %s: its decision is not JSON", r.Hop))
		}
		r = r.Clone()
		out[i] = packedRecord{Record: r}
		if r.Result != nil {
			out[i].result = p.Value(r.Result)
		}
		out[i].Result = nil
	}
	return out
}

// putRecords upserts records and stores the leaves their operation gathered.
func (x *tx) putRecords(r row, pack *packer, records []packedRecord) error {
	if err := pack.store(x, r.t); err != nil {
		return err
	}
	for _, rec := range records {
		if err := x.putRecord(r, rec); err != nil {
			return fmt.Errorf("thread %s: record of hop %s: %w", r.id, rec.Hop, err)
		}
	}
	return nil
}

func (x *tx) putRecord(r row, rec packedRecord) error {
	merged := rec.Record
	old, there, err := x.record(r.t, rec.Record)
	if err != nil {
		return err
	}
	if there {
		var ok bool
		if merged, ok = state.Merge(old.Record, merged); !ok {
			return nil
		}
	}
	if merged.Started.IsZero() {
		merged.Started = unixTime(x.now.UnixNano())
	}
	merged.Thread = ""
	var p packer
	data := p.Encode(merged)
	if p.Err != nil {
		return p.Err
	}
	var id int64
	if err := x.queryRow(`INSERT INTO records (t, seq, hop, round, attempt, server, started, open, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET server = excluded.server, started = excluded.started, open = excluded.open, data = excluded.data RETURNING r`,
		[]any{r.t, merged.Seq, merged.Hop, merged.Round, merged.Attempt, merged.Server, merged.Started.UnixNano(), merged.Status == state.CallOpen, data}, &id); err != nil {
		return err
	}
	switch {
	case merged.Seq == r.head && rec.result != nil:
		return x.exec(`INSERT INTO results (t, r, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`, r.t, id, []byte(rec.result))
	case there:
		return x.exec(`DELETE FROM results WHERE t = ? AND r = ?`, r.t, id)
	}
	return nil
}

// record reads what stands under a record's key.
func (x *tx) record(t int64, r state.Record) (old packedRecord, there bool, err error) {
	var data []byte
	err = x.queryRow(`SELECT data FROM records WHERE t = ? AND seq = ? AND hop = ? AND round = ? AND attempt = ?`,
		[]any{t, r.Seq, r.Hop, r.Round, r.Attempt}, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return packedRecord{}, false, nil
	}
	if err != nil {
		return packedRecord{}, false, err
	}
	return old, true, json.Unmarshal(data, &old.Record)
}

// PutRecords upserts records in one operation.
func (s *Store) PutRecords(ctx context.Context, l state.Lease, records []state.Record) error {
	var pack packer
	rs := pack.records(records)
	if pack.Err != nil {
		return fmt.Errorf("thread %s: %w", l.Thread, pack.Err)
	}
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		return x.putRecords(r, &pack, rs)
	})
}

const selectRecords = `SELECT records.t, threads.id, records.data, results.value FROM records
	JOIN threads ON threads.t = records.t
	LEFT JOIN results ON results.t = records.t AND results.r = records.r`

// scanRecord reads a row of selectRecords; unpack gives the state.Unpacker of a thread.
func scanRecord(scan func(...any) error, unpack func(t int64) *state.Unpacker) (state.Record, error) {
	var (
		t            int64
		id           string
		data, result []byte
		r            state.Record
	)
	if err := scan(&t, &id, &data, &result); err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("record of thread %s: %w: %w", id, state.ErrCorrupt, err)
	}
	r.Thread = id
	if result == nil {
		return r, nil
	}
	r.Result = result
	return r, unpack(t).In(&r.Result)
}

// Records returns the selected records, oldest first.
func (s *Store) Records(ctx context.Context, f state.RecordFilter) (out []state.Record, err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, translate(err)
	}
	defer func() { err = endRead(tx, err) }()
	since := int64(math.MinInt64)
	if !f.Since.IsZero() {
		since = f.Since.UnixNano()
	}
	args := []any{since, f.Server, noLimit(f.Limit), f.Thread}
	where := ` WHERE records.started >= ?1 AND (?2 = '' OR records.server = ?2) AND ?4 = ''` // by time
	if f.Thread != "" {
		// The plus keeps the planner off the index by time: a thread's records are
		// few among all of them.
		where = ` WHERE records.t = (SELECT t FROM threads WHERE id = ?4) AND +records.started >= ?1 AND (?2 = '' OR records.server = ?2)`
	}
	unpackers := make(map[int64]*state.Unpacker)
	unpack := func(t int64) *state.Unpacker {
		if unpackers[t] == nil {
			unpackers[t] = &state.Unpacker{Fetch: func(hash string) ([]byte, error) {
				return readBlob(hash, tx.QueryRowContext(ctx, `SELECT data FROM blobs WHERE t = ? AND hash = ?`, t, hash).Scan)
			}}
		}
		return unpackers[t]
	}
	rows, err := tx.QueryContext(ctx, selectRecords+where+` ORDER BY records.started, records.r LIMIT ?3`, args...)
	err = eachRow(rows, err, func(scan func(...any) error) error {
		r, err := scanRecord(scan, unpack)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, translate(err)
	}
	return out, nil
}
