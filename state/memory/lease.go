package memory

import (
	"context"
	"errors"
	"time"

	"junction/state"
)

// Acquire takes a free or expired lease, or fails with *state.BusyError.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(id, ttl); err != nil {
		return state.Lease{}, err
	}
	t, err := s.lock(ctx, id)
	if err != nil {
		return state.Lease{}, err
	}
	defer t.mu.Unlock()
	now := s.now()
	if t.live(now) {
		return state.Lease{}, &state.BusyError{Thread: id, Owner: t.lease.owner, Remaining: t.lease.expires.Sub(now)}
	}
	t.unheeded = t.unheeded || t.info.Cancel
	t.info.Cancel = false
	t.lease = lease{token: s.tokens.Add(1), owner: owner, held: true, expires: now.Add(ttl)}
	l := state.Grant(id, t.lease.token, owner, ttl, asked)
	l.Cancelled = t.unheeded
	return l, nil
}

// Renew extends a lease that is still held.
func (s *Store) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(l.Thread, l.TTL); err != nil {
		return state.Lease{}, err
	}
	t, err := s.lockHeld(ctx, l)
	if err != nil {
		return state.Lease{}, err
	}
	defer t.mu.Unlock()
	t.lease.expires = s.now().Add(l.TTL)
	return state.Grant(l.Thread, l.Token, l.Owner, l.TTL, asked), nil
}

// Release ends a lease; one that is lost already is no error.
func (s *Store) Release(ctx context.Context, l state.Lease) error {
	t, err := s.lockHeld(ctx, l)
	if errors.Is(err, state.ErrLeaseLost) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.mu.Unlock()
	t.lease.held = false
	if t.info.Cancel && t.info.Status.HeedsCancel() {
		t.info.Status, t.info.Updated = state.StatusCancelled, s.now()
	}
	return nil
}
