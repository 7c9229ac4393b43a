package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var (
	blobScript    = load("blob.lua", true)
	sessionScript = load("session.lua", true)
)

// PutBlob stores data for a thread and returns its hash.
func (s *Store) PutBlob(ctx context.Context, l state.Lease, data []byte) (string, error) {
	var p packer
	hash := state.Hash(data)
	p.Blob(hash, data)
	if p.Err != nil {
		return "", fmt.Errorf("thread %s: %w", l.Thread, p.Err)
	}
	if _, err := s.held(ctx, "store a large value of thread "+l.Thread, l, blobScript, p.appendBlobs(s.leased(l, 3))); err != nil {
		return "", err
	}
	return hash, nil
}

// Blob returns what was stored under a hash.
func (s *Store) Blob(ctx context.Context, id, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := s.fetch(ctx, id, hash)
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", id, err)
	}
	return data, nil
}

// PutSession remembers a session, or replaces the one of the same id.
func (s *Store) PutSession(ctx context.Context, l state.Lease, session state.Session) error {
	var p packer
	data := p.Encode(session)
	if p.Err != nil {
		return fmt.Errorf("thread %s: session %s: %w", l.Thread, session.ID, p.Err)
	}
	_, err := s.held(ctx, "store a session of thread "+l.Thread, l, sessionScript, append(s.leased(l, 2), session.ID, data))
	return err
}

// Sessions returns the thread's sessions by id.
func (s *Store) Sessions(ctx context.Context, id string) ([]state.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	keys := s.threadKeys(id)
	var (
		there  *goredis.IntCmd
		stored *goredis.StringSliceCmd
	)
	err := s.try(ctx, "read the sessions of thread "+id, func(ctx context.Context, _ int) error {
		_, err := s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			there = p.Exists(ctx, keys[keyThread])
			stored = p.HVals(ctx, keys[keySessions])
			return nil
		})
		return err
	})
	if err != nil {
		return nil, s.blameThread(ctx, id, err)
	}
	if there.Val() == 0 {
		return nil, notFound(id)
	}
	out := make([]state.Session, len(stored.Val()))
	for i, text := range stored.Val() {
		if err := json.Unmarshal([]byte(text), &out[i]); err != nil {
			return nil, fmt.Errorf("thread %s: a session: %w: %w", id, state.ErrCorrupt, err)
		}
	}
	slices.SortFunc(out, func(a, b state.Session) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
