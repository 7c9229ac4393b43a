package lab

import (
	"context"
	"time"
)

// outcome is what one run came to.
type outcome struct {
	figures map[Metric]float64
	never   map[Metric]bool
	seconds []second
	shares  []float64 // of the watched server, by second
	fair    float64
}

func simulate(ctx context.Context, s *Scenario, policy string, seed uint64) (*outcome, error) {
	w := newWorld(s, policy, seed)
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.tally.outcome(), nil
}

func (t *tally) outcome() *outcome {
	o := &outcome{figures: map[Metric]float64{}, never: map[Metric]bool{}, seconds: t.seconds}
	var took []float32
	calls, errors, slow := 0, 0, 0
	limit := float32(milliseconds(t.s.Slow))
	for _, s := range t.measured() {
		calls += s.calls
		errors += s.errors
		for _, ms := range s.took {
			if ms > limit {
				slow++
			}
		}
		took = append(took, s.took...)
	}
	if calls > 0 {
		n := float64(calls)
		o.figures[Over] = float64(slow+errors) / n
		o.figures[Within] = 1 - o.figures[Over]
		o.figures[Errors] = float64(errors) / n
		o.figures[Attempts] = float64(t.made) / n
		// The floor comes back each second until the last call has ended, retries and all.
		span := t.last.Seconds() - float64(t.begins())
		floor := float64(t.s.RetryFloor*t.s.Routers) * (1 + span)
		o.figures[Net] = max(float64(t.made)-floor, n) / n
	}
	if len(took) > 0 {
		o.figures[P99] = quantile(took, 0.99)
		o.figures[P50] = quantile(took, 0.5)
	}
	o.figures[Peak] = t.peak()
	if t.watched >= 0 {
		t.follow(o)
	}
	return o
}

// peak is the greatest share by the fair one that a server got within a second.
func (t *tally) peak() float64 {
	const ticks = int(time.Second / tick)
	most := 0.0
	own := make([]uint32, t.servers)
	for at := time.Duration(t.begins()) * time.Second; at+time.Second <= t.s.Duration; at += time.Second {
		clear(own)
		all := uint32(0)
		for i, n := range t.requests[int(at/tick)*t.servers : (int(at/tick)+ticks)*t.servers] {
			own[i%t.servers] += n
			all += n
		}
		for n := range own {
			most = max(most, float64(own[n])/float64(max(all, 1))/t.fair[n])
		}
	}
	return most
}

// follow is what became of the watched server.
func (t *tally) follow(o *outcome) {
	v := t.watchedSpec()
	o.fair = t.fair[t.watched]
	for at := time.Duration(0); at < t.s.Duration; at += time.Second {
		o.shares = append(o.shares, t.share(at, at+time.Second, t.watched))
	}
	from, to, ends := v.trouble(t.s.Duration)
	o.figures[Share] = t.share(from+t.s.Settle, to, t.watched)
	o.figures[Fair] = o.figures[Share] / o.fair
	note := func(m Metric, d time.Duration, came bool) {
		o.figures[m], o.never[m] = d.Seconds(), !came
	}
	if v.Joins == 0 || len(v.Changes) > 0 {
		d, came := t.first(from, func(x float64) bool { return x <= 0.25 })
		note(Drain, d, came)
	}
	if ends {
		d, came := t.first(to, func(x float64) bool { return x >= 0.8 })
		note(Recover, d, came)
	}
	if v.Joins > 0 && len(v.Changes) == 0 {
		d, came := t.first(v.Joins, func(x float64) bool { return x >= 0.8 })
		note(Recover, d, came)
	}
}

func (t *tally) watchedSpec() *Server {
	n := t.watched
	for i := range t.s.Servers {
		if n < t.s.Servers[i].Count {
			return &t.s.Servers[i]
		}
		n -= t.s.Servers[i].Count
	}
	panic("the watched server is one of the scenario's")
}

// trouble is when a server is not what it usually is, by its first change; one that
// never changes is itself the trouble, from when it is there. ends: it is over while
// calls still arrive.
func (v *Server) trouble(duration time.Duration) (from, to time.Duration, ends bool) {
	if len(v.Changes) == 0 {
		return v.Joins, duration, false
	}
	c := v.Changes[0]
	if c.For == 0 || c.At+c.For >= duration {
		return c.At, duration, false
	}
	return c.At, c.At + c.For, true
}
