package redis

import (
	"container/list"
	"sync"

	"junction/state"
)

// cachedThreads bounds how many threads a store remembers the heads of: more than
// a process has in flight, or each commit would read first what it follows.
const cachedThreads = 16384

// head identifies a checkpoint and holds its references. The time tells it from
// another of the same number, of a thread that was deleted and made again.
type head struct {
	seq, at  int64 // at: Unix µs
	channels map[string]state.ChannelRef
}

// heads remembers the newest checkpoints that this process has seen, so that a
// commit need not read what it follows, and the newest that the store
// acknowledged under each lease, so that a store that has gone back is noticed.
// Nothing depends on it being full or fresh: the commit's script compares the
// time of the head, and what was forgotten is read again. The zero value is
// ready; it is safe for concurrent use.
type heads struct {
	mu    sync.Mutex
	at    map[string]*list.Element
	order list.List // newest use first, of *seen
}

type seen struct {
	thread string
	head   head
	token  int64 // of the lease under which acknowledged was
	newest int64 // Seq acknowledged under token
}

// use returns the thread's entry, made or moved to the front. h.mu is held.
func (h *heads) use(thread string) *seen {
	if e, ok := h.at[thread]; ok {
		h.order.MoveToFront(e)
		return e.Value.(*seen)
	}
	if h.at == nil {
		h.at = make(map[string]*list.Element)
	}
	if h.order.Len() >= cachedThreads {
		last := h.order.Back()
		delete(h.at, h.order.Remove(last).(*seen).thread)
	}
	s := &seen{thread: thread}
	h.at[thread] = h.order.PushFront(s)
	return s
}

// saw remembers a checkpoint as its thread's head. channels is kept, not copied.
func (h *heads) saw(thread string, now head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.use(thread).head = now
}

// acknowledged remembers that the store acknowledged seq under a lease.
func (h *heads) acknowledged(thread string, token, seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.use(thread)
	if s.token == token {
		seq = max(seq, s.newest)
	}
	s.token, s.newest = token, seq
}

// newest is the newest Seq acknowledged under a lease, 0 when none is known.
func (h *heads) newest(l state.Lease) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.at[l.Thread]; ok {
		if s := e.Value.(*seen); s.token == l.Token {
			return s.newest
		}
	}
	return 0
}

// find returns the head of this number, if it is the one remembered.
func (h *heads) find(thread string, seq int64) (head, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.at[thread]
	if !ok || e.Value.(*seen).head.seq != seq {
		return head{}, false
	}
	return e.Value.(*seen).head, true
}

// leave drops all that is known of a thread whose lease was given back: whoever
// takes it next reads it anew, and a process that has run a million threads holds
// no more than those it runs.
func (h *heads) leave(l state.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.at[l.Thread]; ok && e.Value.(*seen).token == l.Token {
		delete(h.at, h.order.Remove(e).(*seen).thread)
	}
}

// forget drops what is known of a thread's head, not what was acknowledged.
func (h *heads) forget(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.at[thread]; ok {
		e.Value.(*seen).head = head{}
	}
}
