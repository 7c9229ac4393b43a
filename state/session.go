package state

import (
	"context"
	"fmt"
)

// KeepSession makes a session that a hop uses part of its thread's state, so
// that a run resumed days later, elsewhere, knows what it had. A journal whose
// store keeps no sessions has nothing to do.
func (j *Journal) KeepSession(ctx context.Context, s Session) error {
	store, ok := j.opt.Store.(SessionStore)
	if !ok {
		return nil
	}
	if err := store.PutSession(ctx, j.opt.Lease(), s); err != nil {
		return fmt.Errorf("session with %s for node %q: %w", s.Server, j.scope.Node, err)
	}
	return nil
}
