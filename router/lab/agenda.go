package lab

import (
	"math"
	"time"
)

// event is something that happens at a time, to a call, an attempt or a server.
type event struct {
	at   time.Duration
	turn uint64 // of events at the same time, the order in which they were planned
	what happening
	of   int
}

type happening uint8

const (
	arrives   happening = iota // call
	decides                    // call: after a back-off
	spends                     // call: asks for a retry's token again
	givesUp                    // call: has waited for a place at a server for too long
	finishes                   // attempt: its work is done
	refused                    // attempt
	hedges                     // attempt: it has been long
	begun                      // attempt: its router counts it as in flight
	over                       // attempt: its router counts it no more
	told                       // attempt: its router hears how it ended
	changes                    // server
	joins                      // server
	leaves                     // server
	exchanges                  // router
)

// agenda is a heap of events, the earliest first.
type agenda struct {
	heap []event
	turn uint64
}

func (a *agenda) add(at time.Duration, what happening, of int) {
	a.turn++
	a.heap = append(a.heap, event{at, a.turn, what, of})
	h, i := a.heap, len(a.heap)-1
	for i > 0 {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// peek returns when the next event is; the end of time and false when there is none.
func (a *agenda) peek() (time.Duration, bool) {
	if len(a.heap) == 0 {
		return math.MaxInt64, false
	}
	return a.heap[0].at, true
}

// next takes the earliest event, of which there is one.
func (a *agenda) next() event {
	h := a.heap
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	a.heap = h
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(h) && h[child].before(&h[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.turn < o.turn
}
