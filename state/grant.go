package state

import (
	"fmt"
	"time"
)

// Grant is the lease a backend hands out. asked is the holder's own time from
// before the request for the lease left: the store cannot have started the
// lease earlier than that, so the holder's end never lies after the store's.
func Grant(thread string, token int64, owner string, ttl time.Duration, asked time.Time) Lease {
	return Lease{Thread: thread, Token: token, Owner: owner, TTL: ttl, Until: asked.Add(ttl - LeaseMargin(ttl))}
}

// CheckTTL refuses a lease that would be over before it begins.
func CheckTTL(thread string, ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("lease of thread %s: its time to live is %s: it must be at least 1ms", thread, ttl)
	}
	return nil
}

// LostLease is the error of an operation whose lease no longer stands.
func LostLease(l Lease, why string) error {
	return fmt.Errorf("thread %s: %w by %s (token %d): %s", l.Thread, ErrLeaseLost, l.Owner, l.Token, why)
}

// Vanished is the error of an operation under a lease whose thread is not in
// the store any more.
func Vanished(l Lease) error {
	return fmt.Errorf("thread %s: %w (%w by %s, token %d): it was deleted, or the store has lost its data; nothing is started anew",
		l.Thread, ErrVanished, ErrLeaseLost, l.Owner, l.Token)
}

// Regressed is the error of an operation under a lease that the store knows
// less of than it has acknowledged; what says of what.
func Regressed(l Lease, what string) error {
	return fmt.Errorf("thread %s: %w (%w by %s, token %d): %s; acknowledged work is missing, as after a failover or a restored backup: "+
		"compare \"junction history %s\" with what the servers did before resuming it", l.Thread, ErrRegressed, ErrLeaseLost, l.Owner, l.Token, what, l.Thread)
}

// CheckCommit refuses a commit no backend can store.
func CheckCommit(c Commit) error {
	if c.Status != StatusRunning && c.Status != StatusCompleted {
		return fmt.Errorf("thread %s: commit with status %q: a commit leaves a thread %q or %q", c.Lease.Thread, c.Status, StatusRunning, StatusCompleted)
	}
	return nil
}

// Due says whether retention deletes a thread of this status that was updated
// so long ago. A pending or running thread is never due.
func (r Retention) Due(s Status, age time.Duration) bool {
	switch s {
	case StatusCompleted:
		return r.Completed > 0 && age >= r.Completed
	case StatusFailed, StatusCancelled, StatusInterrupted:
		return r.Stopped > 0 && age >= r.Stopped
	default:
		return false
	}
}

// Merge is the record that stands after update was written over old: an outcome
// is never replaced by an intent, nor a final result by anything that comes
// later, and the time the store gave an intent stays when its outcome brings
// none. ok is false when old stays as it is.
func Merge(old, update Record) (merged Record, ok bool) {
	if old.Status != CallOpen && update.Status == CallOpen || old.Final && old.Status == CallSuccess {
		return old, false
	}
	if update.Started.IsZero() {
		update.Started = old.Started
	}
	return update, true
}
