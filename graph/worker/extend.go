package worker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"junction/state"
)

// extendTurns keeps the entries of the threads in hand from coming up, in one
// operation every third of a turn.
func (w *Worker) extendTurns(runs context.Context, over <-chan struct{}) {
	ticker := time.NewTicker(w.opt.Turn / 3)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		if claims := w.beginExtension(); len(claims) > 0 {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(runs), w.opt.Turn/3)
			kept, err := w.queue.Extend(ctx, claims, w.opt.Turn)
			cancel()
			if err != nil {
				// The leases decide, and they are renewed by the runs themselves: a
				// turn that is over costs another worker a refused lease.
				w.opt.Log.Warn("turns could not be extended", "threads", len(claims), "error", err)
				kept = claims
			}
			w.endExtension(claims, kept)
		}
	}
}

// beginExtension lists the claims to be extended, by thread; none of them is
// settled until endExtension.
func (w *Worker) beginExtension() []state.Claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	var claims []state.Claim
	for _, h := range w.held {
		if !h.moved && !h.settling {
			claims = append(claims, h.claim)
		}
	}
	if len(claims) > 0 {
		w.extending = make(chan struct{})
	}
	slices.SortFunc(claims, func(a, b state.Claim) int { return cmp.Compare(a.Thread, b.Thread) })
	return claims
}

// endExtension notes the turns as they stand. One that is missing was moved: its
// thread goes on, and whoever is given the entry finds it busy.
func (w *Worker) endExtension(asked, kept []state.Claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := make(map[string]state.Claim, len(kept))
	for _, c := range kept {
		by[c.Thread] = c
	}
	for _, c := range asked {
		h := w.held[c.Thread]
		if h == nil || h.claim != c { // given to us once more meanwhile
			continue
		}
		if k, ok := by[c.Thread]; ok {
			h.claim = k
		} else {
			h.moved = true
		}
	}
	close(w.extending)
	w.extending = nil
}

// settling takes the claim of a thread for the last time, once no extension is
// under way that could change it.
func (w *Worker) settling(h *held) (c state.Claim, again bool) {
	for {
		w.mu.Lock()
		extending := w.extending
		if extending == nil {
			h.settling = true
			c, again = h.claim, h.again
			w.mu.Unlock()
			return c, again
		}
		w.mu.Unlock()
		<-extending
	}
}
