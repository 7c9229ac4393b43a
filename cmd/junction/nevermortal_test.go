package main

import (
	"context"
	"errors"
	"sync"

	"junction/state"
)

// mortal is a store as a process sees it that dies at one of its operations.
type mortal struct {
	state.Store
	mu     sync.Mutex
	left   int // operations until then
	before bool
	dead   bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) op(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := errors.Join(errDead, state.ErrLeaseLost)
	if m.dead {
		return dead
	}
	m.left--
	m.dead = m.left == 0
	if m.dead && m.before {
		return dead
	}
	if err := f(); err != nil {
		return err
	}
	if m.dead {
		return dead
	}
	return nil
}

func (m *mortal) SetStatus(ctx context.Context, l state.Lease, s state.Status, f *state.Failure, r []state.Record) error {
	return m.op(func() error { return m.Store.SetStatus(ctx, l, s, f, r) })
}

func (m *mortal) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, r []state.Record) error {
	return m.op(func() error { return m.Store.PutWrites(ctx, l, seq, w, r) })
}

func (m *mortal) PutInterrupt(ctx context.Context, l state.Lease, seq int64, i state.Interrupt, r []state.Record) error {
	return m.op(func() error { return m.Store.PutInterrupt(ctx, l, seq, i, r) })
}

func (m *mortal) PutRecords(ctx context.Context, l state.Lease, r []state.Record) error {
	return m.op(func() error { return m.Store.PutRecords(ctx, l, r) })
}

func (m *mortal) Commit(ctx context.Context, c state.Commit) (cp state.Checkpoint, err error) {
	err = m.op(func() (err error) { cp, err = m.Store.Commit(ctx, c); return err })
	return cp, err
}

func (m *mortal) Release(ctx context.Context, l state.Lease) error {
	m.mu.Lock()
	dead := m.dead
	m.mu.Unlock()
	if dead {
		return errDead
	}
	return m.Store.Release(ctx, l)
}
