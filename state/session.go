package state

import "context"

// KeepSession makes a session that a hop uses part of its thread's state, so
// that a run resumed days later, elsewhere, knows what it had. A journal whose
// store keeps no sessions has nothing to do.
func (j *Journal) KeepSession(ctx context.Context, s Session) error {
	store, ok := j.opt.Store.(SessionStore)
	if !ok {
		return nil
	}
	if err := store.PutSession(ctx, j.opt.Lease(), s); err != nil {
		return &JournalError{Node: j.scope.Node, What: "session with " + s.Server, Err: err}
	}
	return nil
}
