package lab

import (
	"math"
	"slices"
	"time"
)

// refusal is how long it takes to hear that nobody listens.
const refusal = time.Millisecond

// server is a queue before workers.
type server struct {
	spec     *Server
	name     string
	behaves  Behaviour
	present  bool
	running  []int // attempts, as many as there are workers at most
	waiting  []int // attempts, the first in front
	consumed int   // of waiting
}

func newServer(spec *Server, name string) *server {
	return &server{spec: spec, name: name, behaves: spec.Behaviour}
}

// capacity is how many calls a second it does as it behaves now.
func (v *server) capacity() float64 {
	b := &v.behaves
	mean := v.spec.Time
	if b.Mean > 0 {
		mean = b.Mean
	}
	switch {
	case b.Down || !v.present:
		return 0
	case b.Stuck > 0:
		return float64(v.spec.Workers) / b.Stuck.Seconds()
	}
	return float64(v.spec.Workers) / mean.Seconds() * b.Speed
}

// change puts in force what holds for a server now.
func (w *world) change(n int) {
	v := w.servers[n]
	v.behaves = v.spec.Behaviour
	for _, c := range v.spec.Changes {
		if c.At <= w.at && (c.For == 0 || w.at < c.At+c.For) {
			v.behaves = c.Behaviour
		}
	}
	if !v.behaves.Down {
		return
	}
	lost := slices.Concat(v.running, v.waiting[v.consumed:])
	v.running, v.waiting, v.consumed = v.running[:0], v.waiting[:0], 0
	for _, a := range lost {
		w.attempts[a].gone = true
		w.end(a, wasLost)
	}
}

// receive takes an attempt's request.
func (w *world) receive(a int) {
	v := w.servers[w.attempts[a].server]
	switch {
	case v.behaves.Down:
		w.in(refusal, refused, a)
	case len(v.running) < v.spec.Workers:
		w.work(v, a)
	default:
		v.waiting = append(v.waiting, a)
	}
}

// work begins an attempt's work and settles how it will go.
func (w *world) work(v *server, a int) {
	v.running = append(v.running, a)
	t := &w.attempts[a]
	b := &v.behaves
	draw := func(n int) float64 {
		return float64(w.luck.number(ofWork, t.call, 4*t.number+n)>>11) / (1 << 53)
	}
	took := v.lasts(draw(0))
	switch {
	case b.Fails > 0 && draw(1) < b.Fails:
		t.fate = wentWrong
		took = orElse(b.FailsIn, took)
	case b.ToolErrors > 0 && draw(2) < b.ToolErrors:
		t.toolError = true
		took = orElse(b.ToolErrorsIn, took)
	}
	w.in(took, finishes, a)
}

// lasts is how long an answer takes, of which u in [0, 1) is the chance.
func (v *server) lasts(u float64) time.Duration {
	b := &v.behaves
	if b.Stuck > 0 {
		return b.Stuck
	}
	mean := float64(orElse(b.Mean, v.spec.Time)) / b.Speed
	switch v.spec.Spread {
	case Fixed:
	case Lognormal:
		s := v.spec.Sigma
		mean *= math.Exp(s*math.Sqrt2*math.Erfinv(2*max(u, 0x1p-53)-1) - s*s/2)
	default:
		mean *= -math.Log1p(-u)
	}
	return max(time.Duration(mean), 1)
}

// finish ends an attempt's work, begins the next and answers.
func (w *world) finish(a int) {
	t := &w.attempts[a]
	if t.gone {
		return
	}
	v := w.servers[t.server]
	v.running = slices.Delete(v.running, slices.Index(v.running, a), slices.Index(v.running, a)+1)
	for v.consumed < len(v.waiting) && len(v.running) < v.spec.Workers {
		next := v.waiting[v.consumed]
		v.consumed++
		if !w.attempts[next].ended { // else nobody waits for it
			w.work(v, next)
		}
	}
	if v.consumed == len(v.waiting) {
		v.waiting, v.consumed = v.waiting[:0], 0
	}
	w.end(a, t.fate)
}
