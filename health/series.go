package health

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Outcome is what a call says about the server.
type Outcome uint8

const (
	// Ignored says nothing: the caller's fault, a cancelled call.
	Ignored Outcome = iota
	// Success is an answer in order.
	Success
	// ToolError is an answer in order that reports the tool's own error.
	ToolError
	// Failure is the server's.
	Failure
)

const (
	errorSlots  = 10
	errorWidth  = 30 * time.Second // × 10: five minutes
	uptimeSlots = 24
	uptimeWidth = time.Hour
	// Window numbers are computed anew at most this often.
	windowEvery = 250 * time.Millisecond
)

// Series is what was seen of one server doing one capability. Writers hold a
// short mutex; readers load an immutable value.
type Series struct {
	load *Load
	now  atomic.Pointer[published]

	mu         sync.Mutex
	success    Average
	latency    Average // nanoseconds
	toolErrors Average
	recent     *Window
	day        *Window
	ejection   Ejection
	drift      Drift
	joined     time.Time
	rest       time.Time
	declared   Declared
	counted    time.Time // when the window numbers were computed
}

// published is a series as readers see it.
type published struct {
	success, latency, toolErrors Average
	ejected, joined, rest, drift time.Time
	calls                        int
	errorRate, uptime            float64
	p95                          time.Duration
}

func newSeries(load *Load, joined time.Time) *Series {
	s := &Series{
		load:   load,
		recent: NewWindow(errorSlots, errorWidth),
		day:    NewWindow(uptimeSlots, uptimeWidth),
		joined: joined,
	}
	s.now.Store(&published{joined: joined, uptime: 1})
	return s
}

// Load is the calls in flight at a server, over all it does.
type Load struct{ n atomic.Int64 }

// InFlight returns the number of calls under way.
func (l *Load) InFlight() int { return int(l.n.Load()) }

// Begin counts a call in flight, unless limit (0: none) are already.
func (s *Series) Begin(limit int) bool {
	for {
		n := s.load.n.Load()
		if limit > 0 && n >= int64(limit) {
			return false
		}
		if s.load.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Declare says what is claimed of the server, for drift.
func (s *Series) Declare(d Declared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared = d
}

// End counts a call that [Series.Begin] let in as done. latency is used when it
// succeeded.
func (s *Series) End(now time.Time, o Outcome, latency time.Duration) {
	s.load.n.Add(-1)
	s.Observe(now, o, latency)
}

// Observe counts an outcome that was not in flight as a call: a probe.
func (s *Series) Observe(now time.Time, o Outcome, latency time.Duration) {
	if o == Ignored {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := 0.0
	switch o {
	case Success:
		s.latency.Add(now, float64(max(latency, 1)), math.NaN())
		s.toolErrors.Add(now, 0, 0)
		s.recent.Add(now, false, latency)
		s.day.Add(now, false, latency)
		s.ejection.Success(now)
	case ToolError:
		s.toolErrors.Add(now, 1, 0)
		s.recent.AddToolError(now)
		s.day.AddToolError(now)
		s.ejection.Success(now)
	case Failure:
		failed = 1
		s.recent.Add(now, true, 0)
		s.day.Add(now, true, 0)
		s.ejection.Failure(now)
	}
	s.success.Add(now, 1-failed, 1)
	s.publish(now, false)
}

// Rest leaves the server alone until then: it asked for it. Until in the past
// ends a rest.
func (s *Series) Rest(now, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.rest) {
		s.rest = until
	}
	s.publish(now, false)
}

// publish makes the series' values visible to readers. s.mu is held.
func (s *Series) publish(now time.Time, force bool) {
	old := s.now.Load()
	p := &published{
		success: s.success, latency: s.latency, toolErrors: s.toolErrors,
		ejected: s.ejection.Until(), joined: s.joined, rest: s.rest,
		calls: old.calls, errorRate: old.errorRate, uptime: old.uptime, p95: old.p95,
	}
	if force || s.counted.IsZero() || now.Sub(s.counted) >= windowEvery {
		s.counted = now
		calls, failures := s.recent.Count(now)
		p.calls, p.errorRate = calls, 0
		if calls > 0 {
			p.errorRate = float64(failures) / float64(calls)
		}
		p.p95, p.uptime = s.recent.P95(now), s.day.Share(now)
		s.drift.Observe(now, steadyScore(p.reading(now), s.declared))
	}
	p.drift = s.drift.until
	s.now.Store(p)
}

// Read returns the series at now, without waiting and without allocating.
// Numbers over a window are those of the last call that was counted.
func (s *Series) Read(now time.Time) Reading {
	r := s.now.Load().reading(now)
	r.InFlight = s.load.InFlight()
	return r
}

// Refresh counts the windows anew, so that [Series.Read] sees what has left
// them. A series that is being written is skipped: the writer does it.
func (s *Series) Refresh(now time.Time) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	if now.Sub(s.counted) >= windowEvery {
		s.publish(now, true)
	}
}

// RestsUntil returns the end of the rest the server asked for.
func (s *Series) RestsUntil() time.Time { return s.now.Load().rest }

func (p *published) reading(now time.Time) Reading {
	r := Reading{
		Success:    p.success.At(now, 1),
		ToolErrors: p.toolErrors.At(now, 0),
		Calls:      p.calls,
		ErrorRate:  p.errorRate,
		P95:        p.p95,
		Uptime:     p.uptime,
		Ejected:    now.Before(p.ejected),
		Resting:    now.Before(p.rest),
		Drift:      driftFactor(now, p.drift),
		Ramp:       Ramp(now, p.joined),
	}
	if !p.ejected.IsZero() {
		r.Ramp = min(r.Ramp, Ramp(now, p.ejected))
	}
	if p.latency.Known() {
		r.Latency = time.Duration(p.latency.value)
		r.Memory = decay(now.Sub(p.latency.last))
	}
	return r
}
