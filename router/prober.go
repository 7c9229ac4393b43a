package router

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"junction/health"
)

const (
	mostProbes  = 32               // at once
	mostPatient = 24               // of them, those that are given more than the usual time: servers that hang leave room
	probeLimit  = time.Minute      // that a probe's time grows to
	trialEvery  = 10 * time.Minute // that a server which never answers in that time is given a call
	probeTicks  = 16               // looks at what is due, to an interval
)

// prober looks after the servers on one goroutine, and one more for each probe under way.
type prober struct {
	r    *Router
	o    ProbeOptions
	told func(server string, well bool)
	born time.Time
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	rand     *rand.Rand
	snapshot *Snapshot // of the last survey …
	edition  uint64    // … and the roster then
	probes   map[probeKey]*probe
	busy     map[string]bool // servers with a probe under way
	running  int
	patient  int
}

func newProber(r *Router) *prober {
	p := &prober{
		r: r, o: r.options.Probe.withDefaults(), told: func(string, bool) {}, born: time.Now(),
		rand: rand.New(rand.NewPCG(r.seed, hashOf("probe"))), busy: make(map[string]bool),
	}
	if watching, ok := r.options.Observer.(ProbeObserver); ok {
		p.told = watching.OnProbe
	}
	p.life, p.end = context.WithCancel(context.Background())
	if p.o.Every > 0 {
		p.wg.Go(p.run)
	}
	return p
}

func (p *prober) close() {
	p.mu.Lock() // so that no probe begins after the wait did
	p.end()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *prober) run() {
	tick := time.NewTicker(max(p.o.Every/probeTicks, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.tick(time.Now())
		case <-p.life.Done():
			return
		}
	}
}

// tick begins what is due, the longest due first.
func (p *prober) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil || now.Sub(p.born) < p.o.After {
		return
	}
	p.survey(now)
	var due []probeKey
	for key, pr := range p.probes {
		if !pr.due.After(now) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b probeKey) int {
		if by := p.probes[a].due.Compare(p.probes[b].due); by != 0 {
			return by
		}
		return a.compare(b)
	})
	for _, key := range due {
		pr := p.probes[key]
		if p.busy[key.server] || !p.wanted(pr, now) {
			continue
		}
		timeout := p.timeout(pr, now)
		slow := timeout > p.o.Timeout
		if p.running >= mostProbes || slow && p.patient >= mostPatient {
			for _, series := range p.series(pr, now) { // those who wait their turn are no better for it
				series.Hold(now, 2*p.o.Every+timeout)
			}
			continue
		}
		p.begin(key.server, slow)
		t := pr.target
		p.wg.Go(func() {
			f := p.look(p.life, t, timeout)
			p.conclude(key, pr, f, timeout)
			p.done(key.server, slow)
		})
	}
}

func (p *prober) begin(server string, slow bool) {
	p.busy[server] = true
	p.running++
	if slow {
		p.patient++
	}
}

func (p *prober) done(server string, slow bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, server)
	p.running--
	if slow {
		p.patient--
	}
}

// wanted reports whether a probe would tell more than calls do, and can be made now;
// else it is due later. p.mu is held.
func (p *prober) wanted(pr *probe, now time.Time) bool {
	if at := p.worked(pr, now); !at.IsZero() && now.Sub(at) < p.o.Every {
		pr.proven(at)
		pr.due = at.Add(p.jittered(p.o.Every))
		return false
	}
	for _, series := range p.series(pr, now) {
		var r health.Reading
		series.Read(now, &r)
		if r.Resting || r.Full(pr.declared.MaxConcurrent) {
			pr.due = now.Add(p.jittered(p.o.Every / 4))
			return false
		}
	}
	return true
}

// timeout is how long a probe may take. p.mu is held.
func (p *prober) timeout(pr *probe, now time.Time) time.Duration {
	long := max(p.o.Timeout, pr.patience, 2*pr.learned, 2*pr.declared.LatencyP95)
	if pr.by == ByTool {
		for _, series := range p.series(pr, now) {
			var r health.Reading
			series.Read(now, &r)
			long = max(long, 2*r.P95)
		}
	}
	return min(long, p.limit())
}

// limit is the longest that a probe may take.
func (p *prober) limit() time.Duration { return max(probeLimit, p.o.Timeout) }

// jittered is d by a fifth more or less, so that no two beat together. p.mu is held.
func (p *prober) jittered(d time.Duration) time.Duration {
	return time.Duration((0.8 + 0.4*p.rand.Float64()) * float64(d))
}

func (p *prober) series(pr *probe, now time.Time) []*health.Series {
	all := make([]*health.Series, len(pr.covers))
	for i, capability := range pr.covers {
		all[i] = p.r.health.Series(pr.known.server.ID, capability, now)
	}
	return all
}

// worked is when a call last succeeded that proves what the probe would.
func (p *prober) worked(pr *probe, now time.Time) time.Time {
	var last time.Time
	for _, series := range p.series(pr, now) {
		if at := series.Worked(); at.After(last) {
			last = at
		}
	}
	return last
}

// calling reports whether calls of this worker are under way at the server.
func (p *prober) calling(pr *probe, now time.Time) bool {
	for _, series := range p.series(pr, now) {
		var r health.Reading
		if series.Read(now, &r); r.Own > 0 {
			return true
		}
	}
	return false
}

// proven takes a call's success for a probe's.
func (pr *probe) proven(at time.Time) {
	pr.strikes, pr.silent = 0, time.Time{}
	pr.last = ProbeReading{At: at, By: ByCall}
}
