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
	load  *Load
	epoch time.Time // the tracker's first moment
	now   atomic.Pointer[published]
	claim atomic.Pointer[Declared]
	quiet silence

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
	worked     time.Time // when a call last succeeded
	counted    time.Time // when the window numbers were computed
}

// published is a series as readers see it: its averages brought to one moment,
// so that a reader reckons their decay once, and its times as the time since
// the series' epoch.
type published struct {
	at                           time.Duration
	success, toolErrors, memory  float64
	latency                      time.Duration
	ejected, joined, rest, drift time.Duration
	calls                        int
	errorRate, uptime            float64
	p95                          time.Duration
}

func newSeries(load *Load, epoch, joined time.Time) *Series {
	s := &Series{
		load:   load,
		epoch:  epoch,
		recent: NewWindow(errorSlots, errorWidth),
		day:    NewWindow(uptimeSlots, uptimeWidth),
		joined: joined,
	}
	s.claim.Store(&Declared{})
	s.now.Store(&published{
		success: 1, uptime: 1, joined: s.since(joined),
		ejected: never, rest: never, drift: never,
	})
	return s
}

// never is before every moment.
const never = math.MinInt64 / 2

// since is a moment as the time since the epoch; the zero time is never.
func (s *Series) since(t time.Time) time.Duration {
	if t.IsZero() {
		return never
	}
	return t.Sub(s.epoch)
}

// Load is the calls in flight at a server, over all it does.
type Load struct {
	n      atomic.Int64
	ended  atomic.Uint64
	failed atomic.Uint64

	elsewhere             atomic.Uint64        // ended at other workers, as far as they tell
	seen                  atomic.Pointer[view] // by others; nil: nobody told
	toldEnded, toldFailed uint64               // guarded by Tracker.telling
}

// Ended returns how many calls have ever ended, other workers' included, give or
// take: that it rises is how a queue knows that it moves.
func (l *Load) Ended() uint64 { return l.ended.Load() + l.elsewhere.Load() }

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
			s.quiet.begin()
			return true
		}
	}
}

// Declare says what is claimed of the server, for drift.
func (s *Series) Declare(d Declared) {
	if *s.claim.Load() != d {
		changed := d // d itself stays on the stack
		s.claim.Store(&changed)
	}
}

// End counts a call that [Series.Begin] let in as done. latency is used when it
// succeeded.
func (s *Series) End(now time.Time, o Outcome, latency time.Duration) {
	s.load.n.Add(-1)
	s.quiet.end(s.since(now))
	s.load.ended.Add(1)
	s.Observe(now, o, latency)
}

// Ended returns how many calls have ever ended at the server.
func (s *Series) Ended() uint64 { return s.load.Ended() }

// Observe counts an outcome of a call that was not counted as in flight.
func (s *Series) Observe(now time.Time, o Outcome, latency time.Duration) {
	if o == Ignored {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := 0.0
	switch o {
	case Success:
		s.worked = now
		s.latency.Learn(now, float64(max(latency, 1)))
		s.toolErrors.Add(now, 0, 0)
		s.recent.Add(now, false, latency)
		s.day.Add(now, false, latency)
		s.ejection.Success(now)
		s.load.lift(s.since(now))
	case ToolError:
		s.toolErrors.Add(now, 1, 0)
		s.recent.AddAnswer(now)
		s.day.AddAnswer(now)
		s.ejection.Success(now)
		s.load.lift(s.since(now))
	case Failure:
		failed = 1
		s.recent.Add(now, true, 0)
		s.day.Add(now, true, 0)
		s.load.failed.Add(1)
		s.ejection.heed(now, s.load.strikes(s.since(now)))
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
		at: s.since(now), success: s.success.At(now, 1), toolErrors: s.toolErrors.At(now, 0),
		ejected: s.since(s.ejection.Until()), joined: s.since(s.joined), rest: s.since(s.rest),
		calls: old.calls, errorRate: old.errorRate, uptime: old.uptime, p95: old.p95,
	}
	if s.latency.Known() {
		p.latency, p.memory = time.Duration(s.latency.value), decay(now.Sub(s.latency.last))
	}
	if force || s.counted.IsZero() || now.Sub(s.counted) >= windowEvery {
		s.counted = now
		calls, failures := s.recent.Count(now)
		p.calls, p.errorRate = calls, 0
		if calls > 0 {
			p.errorRate = float64(failures) / float64(calls)
		}
		p.p95, p.uptime = s.recent.P95(now), s.day.Share(now)
		var r Reading
		p.fill(&r, p.at)
		s.drift.Observe(now, steadyScore(r, *s.claim.Load()))
	}
	p.drift = s.since(s.drift.until)
	s.now.Store(p)
}

// Read fills r with the series at now, without waiting and without allocating.
// Numbers over a window are those of the last call that was counted.
func (s *Series) Read(now time.Time, r *Reading) { s.ReadAt(s.Moment(now), r) }

// Moment is now as every series of the same tracker reckons it.
func (s *Series) Moment(now time.Time) time.Duration { return now.Sub(s.epoch) }

// ReadAt is Read at a [Series.Moment], which a decision reckons once for all.
func (s *Series) ReadAt(at time.Duration, r *Reading) {
	s.now.Load().fill(r, at)
	r.InFlight = s.load.InFlight()
	s.load.seen.Load().fill(r, at)
	r.Open, r.Silence = s.quiet.read(at)
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

// RestsUntil returns the end of the rest the server asked for, zero for none.
func (s *Series) RestsUntil() time.Time {
	if rest := s.now.Load().rest; rest != never {
		return s.epoch.Add(rest)
	}
	return time.Time{}
}

func (p *published) fill(r *Reading, now time.Duration) {
	left := decay(now - p.at)
	r.Success = 1 - (1-p.success)*left
	r.ToolErrors = p.toolErrors * left
	r.Latency = p.latency
	r.Memory = p.memory * left
	r.Calls = p.calls
	r.ErrorRate = p.errorRate
	r.P95 = p.p95
	r.Uptime = p.uptime
	r.Ejected = now < p.ejected
	r.Resting = now < p.rest
	r.Drift = 1
	if now < p.drift {
		r.Drift = driftPenalty
	}
	r.Ramp = rampAt(now - max(p.joined, p.ejected))
}
