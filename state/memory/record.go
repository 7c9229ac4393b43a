package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"junction/state"
)

// PutRecords upserts records in one operation.
func (s *Store) PutRecords(ctx context.Context, l state.Lease, records []state.Record) error {
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	s.putRecords(t, records)
	return nil
}

func (s *Store) putRecords(t *thread, records []state.Record) {
	for _, r := range records {
		r = r.Clone()
		r.Thread = t.info.ID
		if r.Seq != t.info.Head {
			r.Result = nil // its superstep is committed
		}
		key := recordKey{r.Seq, r.Hop, r.Round, r.Attempt}
		at, there := t.recordAt[key]
		if there {
			merged, ok := state.Merge(t.records[at].record, r)
			if !ok {
				continue
			}
			t.records[at].record = merged
		} else {
			if r.Started.IsZero() {
				r.Started = s.now()
			}
			if t.recordAt == nil {
				t.recordAt = make(map[recordKey]int)
			}
			at = len(t.records)
			t.recordAt[key] = at
			t.records = append(t.records, entry{s.stamps.Add(1), r})
		}
		if t.records[at].record.Result != nil {
			t.withResult = append(t.withResult, at)
		}
	}
}

// dropResults shrinks the records of the superstep under way to call records.
func (t *thread) dropResults() {
	for _, at := range t.withResult {
		t.records[at].record.Result = nil
	}
	t.withResult = t.withResult[:0]
}

// Records returns the selected records, oldest first.
func (s *Store) Records(ctx context.Context, f state.RecordFilter) ([]state.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	threads := s.all()
	if f.Thread != "" {
		threads = slices.DeleteFunc(threads, func(t *thread) bool { return t.info.ID != f.Thread })
	}
	var found []entry
	for _, t := range threads {
		found = append(found, t.selected(f)...)
	}
	slices.SortFunc(found, func(a, b entry) int {
		return cmp.Or(a.record.Started.Compare(b.record.Started), cmp.Compare(a.number, b.number))
	})
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[:f.Limit]
	}
	out := make([]state.Record, len(found))
	for i, e := range found {
		out[i] = e.record.Clone()
	}
	return out, nil
}

// selected returns the thread's records that pass the filter. What comes back
// still shares Decision and Result, which are never changed in place.
func (t *thread) selected(f state.RecordFilter) []entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return nil
	}
	var out []entry
	for _, e := range t.records {
		if (f.Server == "" || e.record.Server == f.Server) && !e.record.Started.Before(f.Since) {
			out = append(out, e)
		}
	}
	return out
}

// PutSession remembers a session, or replaces the one of the same id.
func (s *Store) PutSession(ctx context.Context, l state.Lease, session state.Session) error {
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	if t.sessions == nil {
		t.sessions = make(map[string]state.Session)
	}
	t.sessions[session.ID] = session
	return nil
}

// Sessions returns the thread's sessions by id.
func (s *Store) Sessions(ctx context.Context, id string) ([]state.Session, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.sessions), func(a, b state.Session) int { return cmp.Compare(a.ID, b.ID) }), nil
}
