package redis

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"junction/state"
)

// Bounds of what goes into one script: while it runs, Redis does nothing else.
const (
	togetherTasks = 128
	togetherBytes = 256 << 10 // about
	aloneBytes    = 64 << 10  // from so many a task's writes go alone
)

// siblings gathers the writes of tasks of one superstep that finish at the same
// time. The first goes at once; those that come while it is under way go
// together, in one script, when it is over.
//
// Nobody pays for a neighbour: where a script of several does not succeed, each
// of its callers makes its own call, with its own context, tries and error, which
// the script allows since it may run twice. A caller that leaves takes nobody with
// it. The zero value is ready.
type siblings struct {
	mu   sync.Mutex
	open map[underLease][]*taskWrites // those that wait; present while a script is under way
}

// underLease is a superstep as one holder of the thread runs it.
type underLease struct {
	thread     string
	token, seq int64
}

// taskWrites are the encoded writes of one task.
type taskWrites struct {
	task, data string
	blobs      []state.StoredBlob
	records    []packedRecord

	taken atomic.Bool // by a script, or by its caller, who left
	done  chan bool   // whether they are stored; else the caller sees to it
}

func (w *taskWrites) take() bool { return w.taken.CompareAndSwap(false, true) }

// size is about what they take, in bytes.
func (w *taskWrites) size() int {
	n := len(w.data)
	for _, b := range w.blobs {
		n += len(b.Stored)
	}
	for _, r := range w.records {
		n += len(r.data) + len(r.result)
	}
	return n
}

// enter says whether the superstep is free; else the writes wait.
func (s *siblings) enter(at underLease, w *taskWrites) (free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, busy := s.open[at]
	if busy {
		w.done = make(chan bool, 1)
		s.open[at] = append(waiting, w)
		return false
	}
	if s.open == nil {
		s.open = make(map[underLease][]*taskWrites)
	}
	s.open[at] = nil
	return true
}

// next takes what goes together now. It frees the superstep where nobody waits.
func (s *siblings) next(at underLease) (batch []*taskWrites) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, size := s.open[at], 0
	for len(waiting) > 0 && len(batch) < togetherTasks && size < togetherBytes {
		if w := waiting[0]; w.take() {
			batch, size = append(batch, w), size+w.size()
		}
		waiting = waiting[1:]
	}
	if batch == nil {
		delete(s.open, at)
		return nil
	}
	s.open[at] = slices.Clone(waiting)
	return batch
}

// putTogether stores a task's writes, with those of its siblings.
func (s *Store) putTogether(ctx context.Context, l state.Lease, seq int64, w *taskWrites) error {
	if w.size() >= aloneBytes {
		return s.putWrites(ctx, l, seq, w)
	}
	at := underLease{l.Thread, l.Token, seq}
	if s.siblings.enter(at, w) {
		defer s.putWaiting(l, at)
		return s.putWrites(ctx, l, seq, w)
	}
	select {
	case stored := <-w.done:
		if stored {
			return nil
		}
		return s.putWrites(ctx, l, seq, w)
	case <-ctx.Done():
		w.take()
		return s.putWrites(ctx, l, seq, w) // which says so
	}
}

// putWaiting has what came meanwhile stored, until nobody waits.
func (s *Store) putWaiting(l state.Lease, at underLease) {
	batch := s.siblings.next(at)
	if batch == nil {
		return
	}
	go func() {
		for ; batch != nil; batch = s.siblings.next(at) {
			stored := s.putOnce(l, at.seq, batch)
			for _, w := range batch {
				w.done <- stored
			}
		}
	}()
}

// putOnce tries once to store the writes of several tasks. No caller's context
// ends it: it is bounded by the time of a try.
func (s *Store) putOnce(l state.Lease, seq int64, batch []*taskWrites) (stored bool) {
	var r reply
	err := s.once(context.Background(), 1, func(ctx context.Context, _ int) error {
		v, err := writesScript.Run(ctx, s.client, s.threadKeys(l.Thread), s.writesArgs(l, seq, batch)...).Result()
		if err == nil {
			r, err = asReply(v)
		}
		return err
	})
	return err == nil && r.word() == "ok"
}

// writesArgs are the arguments of writesScript.
func (s *Store) writesArgs(l state.Lease, seq int64, batch []*taskWrites) []any {
	var (
		blobs   []state.StoredBlob
		records []packedRecord
	)
	for _, w := range batch {
		blobs, records = append(blobs, w.blobs...), append(records, w.records...)
	}
	args := append(s.leased(l, 4+2*len(batch)+2*len(blobs)+6*len(records)), seq, len(batch))
	for _, w := range batch {
		args = append(args, w.task, w.data)
	}
	return appendRecords(appendBlobs(args, blobs), records)
}
