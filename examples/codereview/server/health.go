package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// healthPath answers whether a capability works. A registry asks there, and so
// can anybody.
const healthPath = "/mcp/health"

// healthTime bounds one look. It is less than what a registry waits for an
// answer, so that the answer is the reason and not a silence.
const healthTime = 4 * time.Second

// health exercises a server's capability when it is asked how it is. Whoever
// asks while a look is under way gets that one's answer: many askers cost no
// more than one.
type health struct {
	capability string
	probe      func(context.Context) error
	bound      time.Duration

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	looks  sync.WaitGroup

	mu      sync.Mutex
	current *look // nil: none under way
}

// look is one run of the probe.
type look struct {
	done chan struct{} // closed when took and err are there
	took time.Duration
	err  error
}

func newHealth(capability string, probe func(context.Context) error) *health {
	h := &health{capability: capability, probe: probe, bound: healthTime}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// close ends a look that is under way and waits for it: what a probe uses can
// be closed after it.
func (h *health) close() error {
	h.cancel()
	h.looks.Wait()
	return nil
}

// check says how long the capability took, and why it does not work. It returns
// in time even where the probe does not.
func (h *health) check(ctx context.Context) (time.Duration, error) {
	l := h.look()
	if l == nil {
		return 0, errors.New("the server is ending")
	}
	start := time.Now()
	bound := time.NewTimer(h.bound)
	defer bound.Stop()
	select {
	case <-l.done:
		return l.took, l.err
	case <-bound.C:
		return time.Since(start), fmt.Errorf("%s did not finish within %v", h.capability, h.bound)
	case <-ctx.Done():
		return time.Since(start), ctx.Err()
	}
}

// look returns the look under way, or begins one; nil once the server ends.
func (h *health) look() *look {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current != nil {
		return h.current
	}
	if h.ctx.Err() != nil {
		return nil
	}
	l := &look{done: make(chan struct{})}
	h.current = l
	h.looks.Go(func() { h.run(l) })
	return l
}

func (h *health) run(l *look) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(h.ctx, h.bound)
	defer cancel()
	l.err = guarded(ctx, h.probe)
	l.took = time.Since(start)
	h.mu.Lock()
	h.current = nil
	h.mu.Unlock()
	close(l.done)
}

// guarded makes an error of a panic: a reviewer that chokes is ill, and the
// server's other clients need not die of the question.
func guarded(ctx context.Context, probe func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return probe(ctx)
}

// condition is the answer, as JSON.
type condition struct {
	Status     string `json:"status"` // passing, critical, or unknown for a capability this server lacks
	Capability string `json:"capability"`
	DurationMS int64  `json:"duration_ms"`
	Reason     string `json:"reason,omitempty"`
}

// ServeHTTP answers 200 when the capability works, 503 with the reason when it
// does not, and 404 for another server's. Unsaid, the capability is this one's.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query().Get("capability")
	if asked != "" && asked != h.capability {
		reason := fmt.Sprintf("this server has the capability %s; ask for it with ?capability=%[1]s", h.capability)
		answer(w, http.StatusNotFound, condition{Status: "unknown", Capability: asked, Reason: reason})
		return
	}
	took, err := h.check(r.Context())
	c := condition{Status: "passing", Capability: h.capability, DurationMS: took.Milliseconds()}
	if err != nil {
		c.Status, c.Reason = "critical", err.Error()
		answer(w, http.StatusServiceUnavailable, c)
		return
	}
	answer(w, http.StatusOK, c)
}

func answer(w http.ResponseWriter, status int, c condition) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store") // of the moment, for whoever asks
	w.WriteHeader(status)
	// It fails only when nobody is left to tell.
	_ = json.NewEncoder(w).Encode(c)
}
