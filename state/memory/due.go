package memory

import (
	"cmp"
	"container/heap"
	"sync"
	"time"

	"junction/state"
)

// mostBells bounds the wake-ups kept for workers that do not wait yet.
const mostBells = 1024

// queue holds the queued threads. mu is taken alone, never with a thread's.
type queue struct {
	mu      sync.Mutex
	entries map[string]*queued
	fresh   byDue         // given to nobody since they were enqueued
	begun   byDue         // handed out before: they go first when they are due
	moves   int64         // order of entries that are due at the same time
	bell    chan struct{} // one element wakes one worker
}

// queued is an entry of the queue; times in Unix µs.
type queued struct {
	thread string
	begun  bool // a worker was given it
	due    int64
	move   int64 // 0: it is in no heap yet
	turn   int64 // Until of the claim that stands, 0 when none does
	last   int64 // Until of the newest claim there was: none is given out twice
	at     int   // in its heap
}

// byDue is a heap: what is due first, then what was moved first.
type byDue []*queued

func (q byDue) Len() int { return len(q) }
func (q byDue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].due, q[j].due), cmp.Compare(q[i].move, q[j].move)) < 0
}
func (q byDue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}

// Push adds an entry, for container/heap.
func (q *byDue) Push(x any) {
	e, _ := x.(*queued)
	e.at = len(*q)
	*q = append(*q, e)
}

// Pop removes the last entry, for container/heap.
func (q *byDue) Pop() any {
	n := len(*q) - 1
	e := (*q)[n]
	(*q)[n] = nil
	*q = (*q)[:n]
	return e
}

func newQueue() *queue {
	return &queue{entries: make(map[string]*queued), bell: make(chan struct{}, mostBells)}
}

// clear lets go of every entry.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.entries)
	q.fresh, q.begun = nil, nil
	q.hush()
}

// put makes an entry due at a time, without a claim.
func (q *queue) put(e *queued, due int64, begun bool) {
	q.leave(e)
	e.turn, e.begun = 0, begun
	q.enter(e, due)
}

// give hands out an entry for a turn.
func (q *queue) give(e *queued, until int64) {
	q.leave(e)
	e.turn, e.begun = max(until, e.last+1), true
	e.last = e.turn
	q.enter(e, e.turn)
}

// enter adds an entry that is in neither heap.
func (q *queue) enter(e *queued, due int64) {
	q.moves++
	e.due, e.move = due, q.moves
	heap.Push(q.heapOf(e), e)
}

// leave removes an entry from the heap it is in, if any.
func (q *queue) leave(e *queued) {
	if e.move != 0 {
		heap.Remove(q.heapOf(e), e.at)
	}
}

func (q *queue) heapOf(e *queued) *byDue {
	if e.begun {
		return &q.begun
	}
	return &q.fresh
}

// next returns the entry to hand out at a time, nil when none is due.
func (q *queue) next(now int64) *queued {
	for _, entries := range []byDue{q.begun, q.fresh} {
		if len(entries) > 0 && entries[0].due <= now {
			return entries[0]
		}
	}
	return nil
}

// until is how long until an entry is due: 0 when one is, negative when there is
// none.
func (q *queue) until(now int64) time.Duration {
	first := int64(-1)
	for _, entries := range []byDue{q.begun, q.fresh} {
		if len(entries) > 0 && (first < 0 || entries[0].due < first) {
			first = entries[0].due
		}
	}
	if first < 0 {
		return -1
	}
	return time.Duration(max(first-now, 0)) * time.Microsecond
}

// claimed returns the entry a claim stands for, nil when it was moved since.
func (q *queue) claimed(c state.Claim) *queued {
	if e := q.entries[c.Thread]; e != nil && e.turn != 0 && e.turn == c.Until {
		return e
	}
	return nil
}

// ring wakes a worker, now or when it comes to wait.
func (q *queue) ring() {
	select {
	case q.bell <- struct{}{}:
	default:
	}
}

// hush forgets the wake-ups that were kept: nothing is due.
func (q *queue) hush() {
	for {
		select {
		case <-q.bell:
		default:
			return
		}
	}
}
