package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"junction/state"
)

// Options configures a store; nil is the zero value.
type Options struct {
	// Now is the store's clock, for leases and timestamps. nil: time.Now.
	Now func() time.Time
}

// Store keeps threads in memory. It is safe for concurrent use.
type Store struct {
	now    func() time.Time
	tokens atomic.Int64 // one sequence for all threads: a deleted thread's token never comes back
	stamps atomic.Int64 // order in which threads and records came

	mu      sync.RWMutex
	threads map[string]*thread

	queue   *queue
	shares  shares
	samples samples
}

var _ state.Store = (*Store)(nil)

// thread is all that is known of one run. Its fields are guarded by mu, except
// number, which never changes.
type thread struct {
	number int64 // order of creation

	mu          sync.Mutex
	gone        bool // deleted while someone waited for mu
	info        state.Thread
	lineage     string
	writeID     string // of the newest commit
	lease       lease
	unheeded    bool               // a request to stop was cleared by an acquisition, and no status recorded since
	checkpoints []state.Checkpoint // by Seq−1
	values      map[string][]version
	logs        map[string][]generation
	pending     map[string]state.TaskWrites
	interrupts  map[string]state.Interrupt
	records     []entry
	recordAt    map[recordKey]int
	withResult  []int // records of the superstep under way that hold a result
	sessions    map[string]state.Session
	blobs       map[string][]byte
}

type lease struct {
	token   int64 // of the newest acquisition
	owner   string
	held    bool
	expires time.Time
}

type version struct {
	seq   int64
	value json.RawMessage
}

// generation is one life of an append channel, from the checkpoint that set it.
type generation struct {
	set   int64
	items []json.RawMessage
}

type recordKey struct {
	seq            int64
	hop            string
	round, attempt int
}

type entry struct {
	number int64
	record state.Record
}

// New returns an empty store.
func New(o *Options) *Store {
	s := &Store{now: time.Now, threads: make(map[string]*thread), queue: newQueue()}
	if o != nil && o.Now != nil {
		s.now = o.Now
	}
	return s
}

// Close lets go of everything the store holds.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.threads)
	s.queue.clear()
	return nil
}

// lock returns the thread locked, or ErrNotFound.
func (s *Store) lock(ctx context.Context, id string) (*thread, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	t := s.threads[id]
	s.mu.RUnlock()
	if t == nil {
		return nil, notFound(id)
	}
	t.mu.Lock()
	if t.gone {
		t.mu.Unlock()
		return nil, notFound(id)
	}
	return t, nil
}

// lockHeld returns the thread locked, with the lease checked.
func (s *Store) lockHeld(ctx context.Context, l state.Lease) (*thread, error) {
	t, err := s.lock(ctx, l.Thread)
	if err != nil {
		if ctx.Err() == nil {
			return nil, state.Vanished(l)
		}
		return nil, err
	}
	if err := t.check(l, s.now()); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	return t, nil
}

// check reports ErrLeaseLost unless l is the lease that stands.
func (t *thread) check(l state.Lease, now time.Time) error {
	switch {
	case t.lease.token != l.Token:
		return state.LostLease(l, "another worker has taken the thread since")
	case !t.lease.held:
		return state.LostLease(l, "it was released")
	case !now.Before(t.lease.expires):
		return state.LostLease(l, "it ran out")
	}
	return nil
}

// live says whether someone holds the thread.
func (t *thread) live(now time.Time) bool { return t.lease.held && now.Before(t.lease.expires) }

// underway checks that seq is the checkpoint the superstep under way started from.
func (t *thread) underway(seq int64) error {
	if seq != t.info.Head {
		return fmt.Errorf("thread %s: %w: its head is %d, not %d", t.info.ID, state.ErrConflict, t.info.Head, seq)
	}
	return nil
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, state.ErrNotFound) }
