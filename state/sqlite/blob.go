package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"junction/state"
)

// PutBlob stores data for a thread and returns its hash.
func (s *Store) PutBlob(ctx context.Context, l state.Lease, data []byte) (string, error) {
	var pack packer
	hash := state.Hash(data)
	pack.Blob(hash, data)
	if pack.Err != nil {
		return "", fmt.Errorf("thread %s: %w", l.Thread, pack.Err)
	}
	err := s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		return pack.store(x, r.t)
	})
	if err != nil {
		return "", err
	}
	return hash, nil
}

// Blob returns what was stored under a hash.
func (s *Store) Blob(ctx context.Context, id, hash string) ([]byte, error) {
	data, err := readBlob(hash, s.read.QueryRowContext(ctx, `SELECT data FROM blobs WHERE t = (SELECT t FROM threads WHERE id = ?) AND hash = ?`, id, hash).Scan)
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", id, translate(err))
	}
	return data, nil
}

// PutSession remembers a session, or replaces the one of the same id.
func (s *Store) PutSession(ctx context.Context, l state.Lease, session state.Session) error {
	var pack packer
	data := pack.Encode(session)
	if pack.Err != nil {
		return fmt.Errorf("thread %s: session %s: %w", l.Thread, session.ID, pack.Err)
	}
	return s.write.run(ctx, func(x *tx) error {
		r, err := x.held(l)
		if err != nil {
			return err
		}
		return x.exec(`INSERT INTO sessions (t, id, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`, r.t, session.ID, data)
	})
}

// Sessions returns the thread's sessions by id.
func (s *Store) Sessions(ctx context.Context, id string) ([]state.Session, error) {
	var out []state.Session
	err := s.look(ctx, id, func(v *view) error {
		return v.each(`SELECT data FROM sessions WHERE t = ? ORDER BY id`, []any{v.t}, func(scan func(...any) error) error {
			var (
				text    []byte
				session state.Session
			)
			if err := scan(&text); err != nil {
				return err
			}
			err := json.Unmarshal(text, &session)
			out = append(out, session)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
