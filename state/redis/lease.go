package redis

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"junction/state"
)

var (
	acquireScript = load("acquire.lua", true)
	renewScript   = load("renew.lua", true)
	releaseScript = load("release.lua", true)
)

// Acquire takes a free or expired lease, or fails with *state.BusyError.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(id, ttl); err != nil {
		return state.Lease{}, err
	}
	args := append(s.retained(3), uuid.NewString(), owner, ttl.Microseconds())
	r, _, err := s.run(ctx, "acquire thread "+id, id, acquireScript, args)
	if err != nil {
		return state.Lease{}, err
	}
	switch r.word() {
	case "gone":
		return state.Lease{}, notFound(id)
	case "busy":
		return state.Lease{}, busy(id, r)
	}
	token := r.number(1)
	s.heads.acknowledged(id, token, r.number(2))
	l := state.Grant(id, token, owner, ttl, asked)
	l.Cancelled = r.text(3) == "1"
	return l, nil
}

// Renew extends a lease that is still held.
func (s *Store) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	asked := time.Now()
	if err := state.CheckTTL(l.Thread, l.TTL); err != nil {
		return state.Lease{}, err
	}
	if _, err := s.held(ctx, "renew the lease of thread "+l.Thread, l, renewScript, append(s.leased(l, 1), l.TTL.Microseconds())); err != nil {
		return state.Lease{}, err
	}
	return state.Grant(l.Thread, l.Token, l.Owner, l.TTL, asked), nil
}

// Release ends a lease; one that is lost already is no error.
func (s *Store) Release(ctx context.Context, l state.Lease) error {
	args := s.leased(l, 0)
	args[len(args)-1] = 0 // also a thread whose head has gone back is free then, for whoever looks at it
	_, err := s.held(ctx, "release thread "+l.Thread, l, releaseScript, args)
	if errors.Is(err, state.ErrLeaseLost) {
		return nil
	}
	if err == nil {
		s.heads.leave(l)
	}
	return err
}
