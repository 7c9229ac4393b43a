package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var (
	recordsScript = load("records.lua", true)
	plainScript   = load("records_plain.lua", false)
	callsScript   = load("calls.lua", false)
)

// PutRecords upserts records in one operation.
func (s *Store) PutRecords(ctx context.Context, l state.Lease, records []state.Record) error {
	var p packer
	rs := p.records(records, true)
	if p.Err != nil {
		return fmt.Errorf("thread %s: %w", l.Thread, p.Err)
	}
	what := "store records of thread " + l.Thread
	if len(p.Blobs) == 0 && plain(rs) {
		if stored, err := s.putPlain(ctx, what, l, rs); stored || err != nil {
			return err
		}
	}
	args := appendRecords(p.appendBlobs(s.leased(l, 2+2*len(p.Blobs)+6*len(rs))), rs)
	_, err := s.held(ctx, what, l, recordsScript, args)
	return err
}

// putPlain stores records by the short script; false: they are out of the ordinary.
func (s *Store) putPlain(ctx context.Context, what string, l state.Lease, rs []packedRecord) (stored bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	all := s.threadKeys(l.Thread)
	keys := []string{all[keyThread], all[keyUnderway], all[keyRecords]}
	args := append(make([]any, 0, 3+6*len(rs)), l.Token, s.heads.newest(l))
	v, _, err := s.eval(ctx, what, plainScript, keys, appendRecords(args, rs)...)
	if err != nil {
		return false, err
	}
	r, err := asReply(v)
	return r.word() == "ok", err
}

// mostPlain is how many records the short script takes at once: Lua passes no more
// than some thousand arguments on.
const mostPlain = 256

// plain says whether the short script may try: no record comes twice.
func plain(rs []packedRecord) bool {
	if len(rs) < 2 {
		return len(rs) == 1
	}
	seen := make(map[string]struct{}, len(rs))
	for i := range rs {
		seen[rs[i].field] = struct{}{}
	}
	return len(seen) == len(rs) && len(rs) <= mostPlain
}

// entry is a stored record with its place among all: by the time it started,
// then by the time and the place in its operation at which it came.
type entry struct {
	record state.Record
	came   int64 // Unix µs
	place  int
}

func (e entry) compare(o entry) int {
	return cmp.Or(e.record.Started.Compare(o.record.Started), cmp.Compare(e.came, o.came), cmp.Compare(e.place, o.place))
}

var errRecord = errors.New("not in the form of a record")

// decodeRecord reads "KIND STARTED CAME PLACE\nJSON" and the result, which is
// "" or "=" and its packed value.
func decodeRecord(id, stored, result string, unpack func(json.RawMessage) (json.RawMessage, error)) (e entry, err error) {
	first, text, ok := strings.Cut(stored, "\n")
	parts := strings.Split(first, " ")
	if !ok || len(parts) != 4 {
		return e, errRecord
	}
	started, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return e, errRecord
	}
	if e.came, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return e, errRecord
	}
	if e.place, err = strconv.Atoi(parts[3]); err != nil {
		return e, errRecord
	}
	if err := json.Unmarshal([]byte(text), &e.record); err != nil {
		return e, err
	}
	e.record.Thread, e.record.Started = id, time.Unix(0, started).UTC()
	if value, some := strings.CutPrefix(result, "="); some {
		e.record.Result, err = unpack(json.RawMessage(value))
	}
	return e, err
}

// Records returns the selected records, oldest first. Over all threads it reads
// them in pages and leaves out threads without a record since the time asked for.
func (s *Store) Records(ctx context.Context, f state.RecordFilter) ([]state.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var (
		found []entry
		err   error
	)
	if f.Thread != "" {
		found, err = s.recordsOf(ctx, []string{f.Thread}, f)
	} else {
		err = s.pages(ctx, oldestFirst, func(page []indexed) (bool, error) {
			ids, err := s.since(ctx, page, f.Since)
			if err != nil {
				return false, err
			}
			more, err := s.recordsOf(ctx, ids, f)
			found = firstOf(append(found, more...), f.Limit)
			return true, err
		})
	}
	if err != nil {
		return nil, err
	}
	var out []state.Record
	for _, e := range firstOf(found, f.Limit) {
		out = append(out, e.record)
	}
	return out, nil
}

// firstOf sorts entries and keeps the first n; 0: all.
func firstOf(entries []entry, n int) []entry {
	slices.SortFunc(entries, entry.compare)
	if n > 0 && len(entries) > n {
		return entries[:n]
	}
	return entries
}

// second is how exact a thread's time of its newest record is, in µs: it is not
// written with each.
const second = 1_000_000

// since leaves out the threads of a page whose newest record is older.
func (s *Store) since(ctx context.Context, page []indexed, since time.Time) ([]string, error) {
	ids := make([]string, 0, len(page))
	if since.IsZero() {
		for _, e := range page {
			ids = append(ids, e.id)
		}
		return ids, nil
	}
	rows, err := s.rows(ctx, page, "last")
	if err != nil {
		return nil, err
	}
	for i, e := range page {
		if v := rows[i].text(0); v != "" && rows[i].number(0)/second >= since.UnixMicro()/second {
			ids = append(ids, e.id)
		}
	}
	return ids, nil
}

// recordsOf reads the selected records of threads, in one round trip.
func (s *Store) recordsOf(ctx context.Context, ids []string, f state.RecordFilter) ([]entry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	cmds := make([]*goredis.Cmd, len(ids))
	err := s.try(ctx, "read records", func(ctx context.Context, _ int) error {
		_, err := s.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for i, id := range ids {
				cmds[i] = callsScript.Eval(ctx, p, s.threadKeys(id))
			}
			return nil
		})
		for i, cmd := range cmds {
			if err != nil && cmd.Err() == err {
				return &threadError{ids[i], err}
			}
		}
		return err
	})
	if err != nil {
		return nil, s.blamePage(ctx, err)
	}
	var out []entry
	for i, cmd := range cmds {
		r, err := asReply(cmd.Val())
		if err != nil {
			return nil, err
		}
		if out, err = s.selected(ctx, out, ids[i], r, f); err != nil {
			return nil, fmt.Errorf("thread %s: %w", ids[i], err)
		}
	}
	return out, nil
}

// selected appends the records of a thread that pass the filter.
func (s *Store) selected(ctx context.Context, out []entry, id string, r reply, f state.RecordFilter) ([]entry, error) {
	stored, kept := r.list(1), r.list(2)
	results := make(map[string]string, len(kept)/2)
	for i := 0; i+1 < len(kept); i += 2 {
		results[kept.text(i)] = kept.text(i + 1)
	}
	u := s.unpacker(ctx, id)
	for i := 0; i+1 < len(stored); i += 2 {
		var fetching error
		e, err := decodeRecord(id, stored.text(i+1), results[stored.text(i)], func(packed json.RawMessage) (json.RawMessage, error) {
			value, err := u.Value(packed)
			fetching = err
			return value, err
		})
		switch {
		case fetching != nil:
			return nil, fetching
		case err != nil:
			return nil, fmt.Errorf("record %s: %w: %w", stored.text(i), state.ErrCorrupt, err)
		}
		if (f.Server == "" || e.record.Server == f.Server) && !e.record.Started.Before(f.Since) {
			out = append(out, e)
		}
	}
	return out, nil
}
