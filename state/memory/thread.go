package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"junction/state"
)

// CreateThread stores a thread and its first checkpoint.
func (s *Store) CreateThread(ctx context.Context, n state.NewThread) (state.Thread, error) {
	if err := ctx.Err(); err != nil {
		return state.Thread{}, err
	}
	if n.ID == "" {
		return state.Thread{}, errors.New("create thread: it needs an id")
	}
	change, err := state.NewChange(nil, 1, n.Set, n.Append)
	if err != nil {
		return state.Thread{}, fmt.Errorf("create thread %s: %w", n.ID, err)
	}
	now := s.now()
	t := &thread{
		lineage: n.Lineage,
		info: state.Thread{
			ID: n.ID, Workflow: n.Workflow, Version: n.Version, Definition: n.Definition,
			Meta: maps.Clone(n.Meta), Status: state.StatusPending, Head: 1, Created: now, Updated: now,
		},
		checkpoints: []state.Checkpoint{{
			Thread: n.ID, Seq: 1, Lineage: n.Lineage, Source: "input",
			Channels: change.Channels, Next: state.CloneTasks(n.Next), Created: now,
		}},
	}
	t.keep(1, change)
	for _, data := range n.Blobs {
		t.putBlob(data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.threads[n.ID]; taken {
		return state.Thread{}, fmt.Errorf("thread %s: %w", n.ID, state.ErrExists)
	}
	t.number = s.stamps.Add(1)
	s.threads[n.ID] = t
	return t.info.Clone(), nil
}

// Thread returns one thread.
func (s *Store) Thread(ctx context.Context, id string) (state.Thread, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return state.Thread{}, err
	}
	defer t.mu.Unlock()
	return t.view(), nil
}

// view is the thread as callers see it.
func (t *thread) view() state.Thread {
	v := t.info.Clone()
	for _, i := range t.interrupts {
		if i.Answer == nil {
			v.Waiting++
		}
	}
	return v
}

// all returns the threads there are, oldest first.
func (s *Store) all() []*thread {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.threads), func(a, b *thread) int { return cmp.Compare(a.number, b.number) })
}

// Threads returns the selected threads, newest first.
func (s *Store) Threads(ctx context.Context, f state.ThreadFilter) ([]state.Thread, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []state.Thread
	for _, t := range slices.Backward(s.all()) {
		t.mu.Lock()
		info := t.info
		if !t.gone && (f.Status == "" || f.Status == info.Status) && (f.Workflow == "" || f.Workflow == info.Workflow) {
			out = append(out, t.view())
		}
		t.mu.Unlock()
		if f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	return out, nil
}

// DeleteThread removes a thread and everything that belongs to it.
func (s *Store) DeleteThread(ctx context.Context, id string) error {
	t, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	if now := s.now(); t.live(now) {
		defer t.mu.Unlock()
		return &state.BusyError{Thread: id, Owner: t.lease.owner, Remaining: t.lease.expires.Sub(now)}
	}
	t.gone = true
	t.mu.Unlock()
	s.forget(id, t)
	return nil
}

// forget takes a thread that is gone off the map.
func (s *Store) forget(id string, t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[id] == t {
		delete(s.threads, id)
	}
}

// RequestCancel asks whoever runs the thread to stop.
func (s *Store) RequestCancel(ctx context.Context, id string) error {
	t, err := s.lock(ctx, id)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	if t.info.Status == state.StatusCompleted {
		return nil
	}
	now := s.now()
	t.info.Cancel, t.info.Updated = true, now
	if !t.live(now) {
		t.info.Status = state.StatusCancelled
	}
	return nil
}

// CancelRequested says whether the thread was asked to stop.
func (s *Store) CancelRequested(ctx context.Context, id string) (bool, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return false, err
	}
	defer t.mu.Unlock()
	return t.info.Cancel, nil
}

// Reopen makes a stopped thread that nobody runs pending.
func (s *Store) Reopen(ctx context.Context, id string) (state.Thread, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return state.Thread{}, err
	}
	defer t.mu.Unlock()
	now := s.now()
	if t.info.Status.Stopped() && !t.live(now) {
		t.info.Status, t.info.Cancel, t.info.Failure, t.info.Updated, t.unheeded = state.StatusPending, false, nil, now, false
	}
	return t.view(), nil
}

// SetStatus records a stop, or that work begins again.
func (s *Store) SetStatus(ctx context.Context, l state.Lease, status state.Status, f *state.Failure, records []state.Record) error {
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	s.putRecords(t, records)
	if t.info.Status == state.StatusCompleted {
		return nil
	}
	t.info.Status, t.info.Failure, t.info.Updated, t.unheeded = status, f.Clone(), s.now(), false
	if status == state.StatusRunning {
		t.info.Failure = nil
	}
	return nil
}

// Prune deletes the threads retention says.
func (s *Store) Prune(ctx context.Context, r state.Retention) (int, error) {
	var n int
	for _, t := range s.all() {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		now := s.now()
		t.mu.Lock()
		due := !t.gone && !t.live(now) && r.Due(t.info.Status, now.Sub(t.info.Updated))
		if due {
			t.gone = true
		}
		t.mu.Unlock()
		if due {
			s.forget(t.info.ID, t)
			n++
		}
	}
	return n, nil
}
