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

// boundPrefix begins the id of an entry that is no session of its own but says
// which one the thread's later hops stay with.
const boundPrefix = "bound/"

// BindSession makes the thread's hops for what (a capability, or a server's
// name) stay with session s, in whatever process they run. A zero s frees them.
func (j *Journal) BindSession(ctx context.Context, what string, s Session) error {
	s.ID, s.Bound = boundPrefix+what, s.ID
	return j.KeepSession(ctx, s)
}

// BoundSession returns the session that the thread's hops for what stay with;
// one without an id when they are free, or when the store keeps no sessions.
func (j *Journal) BoundSession(ctx context.Context, what string) (Session, error) {
	store, ok := j.opt.Store.(SessionStore)
	if !ok {
		return Session{}, nil
	}
	all, err := store.Sessions(ctx, j.scope.Thread)
	if err != nil {
		return Session{}, &JournalError{Node: j.scope.Node, What: "sessions of the thread", Err: err}
	}
	for _, s := range all {
		if s.ID == boundPrefix+what {
			s.ID, s.Bound = s.Bound, ""
			return s, nil
		}
	}
	return Session{}, nil
}
