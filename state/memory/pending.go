package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"junction/state"
)

// lockUnderway locks the lease's thread where seq is its head.
func (s *Store) lockUnderway(ctx context.Context, l state.Lease, seq int64) (*thread, error) {
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := t.underway(seq); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	return t, nil
}

// PutWrites makes one task's writes durable; the first write of a task wins.
func (s *Store) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, records []state.Record) error {
	t, err := s.lockUnderway(ctx, l, seq)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	s.putRecords(t, records)
	if t.pending == nil {
		t.pending = make(map[string]state.TaskWrites)
	}
	if _, done := t.pending[w.Task]; !done {
		t.pending[w.Task] = w.Clone()
	}
	return nil
}

// PutInterrupt makes a question durable; one that is answered already stays.
func (s *Store) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, records []state.Record) error {
	t, err := s.lockUnderway(ctx, l, seq)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	s.putRecords(t, records)
	if t.interrupts == nil {
		t.interrupts = make(map[string]state.Interrupt)
	}
	if t.interrupts[i.ID].Answer == nil {
		i = i.Clone()
		i.Answer, i.Answered = nil, time.Time{} // answers come by Answer
		if i.Asked.IsZero() {
			i.Asked = s.now()
		}
		t.interrupts[i.ID] = i
	}
	return nil
}

// Answer stores answers by interrupt id, all or none.
func (s *Store) Answer(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	t, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	if err := state.CheckAnswers(id, answers, func(interrupt string) (known, answered bool) {
		i, known := t.interrupts[interrupt]
		return known, i.Answer != nil
	}); err != nil {
		return err
	}
	now := s.now()
	for interrupt, answer := range answers {
		i := t.interrupts[interrupt]
		i.Answer, i.Answered = bytes.Clone(answer), now
		t.interrupts[interrupt] = i
	}
	t.info.Updated = now
	return nil
}

// PutBlob stores data for a thread and returns its hash.
func (s *Store) PutBlob(ctx context.Context, l state.Lease, data []byte) (string, error) {
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return "", err
	}
	defer t.mu.Unlock()
	return t.putBlob(data), nil
}

func (t *thread) putBlob(data []byte) string {
	hash := state.Hash(data)
	if t.blobs == nil {
		t.blobs = make(map[string][]byte)
	}
	if _, there := t.blobs[hash]; !there {
		t.blobs[hash] = bytes.Clone(data)
	}
	return hash
}

// Blob returns what was stored under a hash.
func (s *Store) Blob(ctx context.Context, id, hash string) ([]byte, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer t.mu.Unlock()
	data, ok := t.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("thread %s: blob %.12s…: %w", id, hash, state.ErrNotFound)
	}
	return bytes.Clone(data), nil
}
