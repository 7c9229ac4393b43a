package router

import (
	"errors"
	"slices"
)

// ErrFlowFull reports a flow that holds nothing but finals: one more could be kept
// only by dropping another.
var ErrFlowFull = errors.New("the queue is full of finals: one more would drop another")

// Flow is a bounded queue of reports and finals on their way to somebody slower
// than those who send (R32). Reports of one token that follow each other become
// one, the newest. Where there is no room the oldest report goes, and the stream
// is marked: what was missed must be read again where it is kept. Finals are never
// dropped; one that has no room is refused.
//
// It is not safe for concurrent use.
type Flow[T any] struct {
	capacity int
	queue    []flowing[T]
	lost     int
}

type flowing[T any] struct {
	token string
	final bool
	v     T
}

// NewFlow returns an empty flow for at most so many entries, at least one.
func NewFlow[T any](capacity int) *Flow[T] { return &Flow[T]{capacity: max(1, capacity)} }

// Report takes a report that a later one of the same token may replace.
func (f *Flow[T]) Report(token string, v T) {
	if n := len(f.queue); n > 0 && !f.queue[n-1].final && f.queue[n-1].token == token {
		f.queue[n-1].v = v
		return
	}
	if !f.room() {
		f.lost++
		return
	}
	f.queue = append(f.queue, flowing[T]{token: token, v: v})
}

// Final takes what must arrive, or refuses it with [ErrFlowFull].
func (f *Flow[T]) Final(v T) error {
	if !f.room() {
		return ErrFlowFull
	}
	f.queue = append(f.queue, flowing[T]{final: true, v: v})
	return nil
}

// room makes room for one entry: the oldest report goes. false: there is none.
func (f *Flow[T]) room() bool {
	if len(f.queue) < f.capacity {
		return true
	}
	oldest := slices.IndexFunc(f.queue, func(e flowing[T]) bool { return !e.final })
	if oldest < 0 {
		return false
	}
	f.queue = slices.Delete(f.queue, oldest, oldest+1)
	f.lost++
	return true
}

// Next takes the oldest entry out; false: there is none.
func (f *Flow[T]) Next() (v T, ok bool) {
	if len(f.queue) == 0 {
		return v, false
	}
	v = f.queue[0].v
	f.queue = slices.Delete(f.queue, 0, 1)
	return v, true
}

// Reread says how many reports were dropped since it was last asked; where there
// are any, what they told of must be read again.
func (f *Flow[T]) Reread() (lost int) {
	lost, f.lost = f.lost, 0
	return lost
}
