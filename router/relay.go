package router

import (
	"context"
	"fmt"
	"strconv"
	"sync"
)

// relayed is how many events wait for a watcher that is slow.
const relayed = 1024

// Relay is an [Observer] that keeps another from holding up hops: it may be slow,
// or block, as a terminal does whose output was stopped. It is told of everything
// in order, by one goroutine; while it falls behind, progress gives way and the
// outcomes stay ([Flow]).
type Relay struct {
	to   Observer
	wake chan struct{} // holds a token while there is something to tell
	done chan struct{}

	mu      sync.Mutex
	flow    *Flow[func(Observer)]
	refused int
	closed  bool
}

// GapObserver is an [Observer] that wants to know that some of what happened was
// not told: it is in the call records.
type GapObserver interface {
	OnGap(lost int)
}

// NewRelay returns a relay to o. Close it.
func NewRelay(o Observer) *Relay {
	r := &Relay{to: o, wake: make(chan struct{}, 1), done: make(chan struct{}), flow: NewFlow[func(Observer)](relayed)}
	go r.run()
	return r
}

func (r *Relay) run() {
	defer close(r.done)
	for range r.wake {
		for {
			tell, lost, closed := r.next()
			if gaps, ok := r.to.(GapObserver); ok && lost > 0 {
				gaps.OnGap(lost)
			}
			if tell == nil && closed {
				return
			}
			if tell == nil {
				break
			}
			tell(r.to)
		}
	}
}

func (r *Relay) next() (tell func(Observer), lost int, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost = r.flow.Reread() + r.refused
	r.refused = 0
	tell, _ = r.flow.Next()
	return tell, lost, r.closed
}

// Close returns when everything was told. When ctx ends first it returns ctx's
// error with how much is left untold, which may still be told.
func (r *Relay) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.rouse()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Errorf("%d events were not shown: %w", len(r.flow.queue), ctx.Err())
}

func (r *Relay) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Relay) final(tell func(Observer)) {
	r.mu.Lock()
	if r.closed || r.flow.Final(tell) != nil {
		r.refused++ // and told of as a gap
	}
	r.mu.Unlock()
	r.rouse()
}

// OnDecision implements [Observer].
func (r *Relay) OnDecision(h HopInfo, d Decision) {
	r.final(func(o Observer) { o.OnDecision(h, d) })
}

// OnAttempt implements [Observer].
func (r *Relay) OnAttempt(h HopInfo, a AttemptInfo) {
	r.final(func(o Observer) { o.OnAttempt(h, a) })
}

// OnOutcome implements [Observer].
func (r *Relay) OnOutcome(h HopInfo, a AttemptInfo, out OutcomeInfo) {
	r.final(func(o Observer) { o.OnOutcome(h, a, out) })
}

// OnProgress implements [Observer].
func (r *Relay) OnProgress(h HopInfo, a AttemptInfo, p Progress) {
	r.mu.Lock()
	if !r.closed {
		r.flow.Report(h.Hop+"/"+strconv.Itoa(a.Attempt), func(o Observer) { o.OnProgress(h, a, p) })
	}
	r.mu.Unlock()
	r.rouse()
}

// OnDrift implements [ServerObserver] for one that is.
func (r *Relay) OnDrift(server string, sameVersion bool) {
	if to, ok := r.to.(ServerObserver); ok {
		r.final(func(Observer) { to.OnDrift(server, sameVersion) })
	}
}

// OnHeldBack implements [ServerObserver] for one that is.
func (r *Relay) OnHeldBack(server, tool string) {
	if to, ok := r.to.(ServerObserver); ok {
		r.final(func(Observer) { to.OnHeldBack(server, tool) })
	}
}
