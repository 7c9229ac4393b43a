package lab

import (
	"math"
	"testing"
	"time"

	"junction/health"
	"junction/state"
)

func inFlight(b *balancer, candidate int, now time.Time) int {
	var r health.Reading
	b.candidates.Series(candidate).Read(now, &r)
	return r.Own
}

// meanOf is the mean time of all measured calls of a run, in seconds.
func meanOf(t *testing.T, s Scenario, seed uint64) float64 {
	t.Helper()
	s = s.withDefaults()
	w := newWorld(&s, "uniform", seed)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum, n := 0.0, 0
	for _, sec := range w.tally.measured() {
		for _, ms := range sec.took {
			sum += float64(ms) / 1000
			n++
		}
	}
	return sum / float64(n)
}

// erlangC is the chance to wait in M/M/c, with load a = λ/μ.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	return last / (sum + last)
}

func TestAServerWaitsAsQueueingTheorySays(t *testing.T) {
	t.Parallel()
	const mean = 0.1
	for _, c := range []struct {
		name    string
		workers int
		load    float64
		spread  Spread
		want    float64 // s, mean time of a call with its wait
	}{
		{"M/M/1 at half load", 1, 0.5, Exponential, mean / (1 - 0.5)},
		{"M/D/1 at half load", 1, 0.5, Fixed, mean * (1 + 0.5/(2*(1-0.5)))},
		{"M/M/8 at 0.8", 8, 0.8, Exponential, mean + erlangC(8, 6.4)*mean/(8*(1-0.8))},
		{"M/G/1 at 0.3, lognormal", 1, 0.3, Lognormal, mean + 0.3*mean*math.E/(2*(1-0.3))}, // (1+CV²) = e^σ²
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Scenario{
				Name: c.name, Duration: 4000 * time.Second, Warmup: 50 * time.Second, Calls: Calls{Load: c.load},
				Servers: []Server{{Name: "only", Workers: c.workers, Spread: c.spread}},
			}
			sum := 0.0
			const seeds = 4
			for seed := range uint64(seeds) {
				sum += meanOf(t, s, seed) / seeds
			}
			if math.Abs(sum-c.want) > 0.05*c.want {
				t.Errorf("a call takes %.4f s on average, want %.4f", sum, c.want)
			}
		})
	}
}

func TestCallsArriveAtTheirRates(t *testing.T) {
	t.Parallel()
	s := Scenario{
		Name: "rates", Duration: 40 * time.Second, Servers: []Server{{Name: "only", Workers: 100}},
		Calls: Calls{Rates: []Rate{{0, 50}, {10 * time.Second, 0}, {20 * time.Second, 200}}},
	}
	r := report(t, s, nil, Seeds(1, 20)...)
	sums := [4]float64{}
	for i, sec := range r.Policies[0].Series {
		sums[i/10] += sec.Calls / 10
	}
	for i, want := range []float64{50, 0, 200, 200} {
		if math.Abs(sums[i]-want) > 0.05*want {
			t.Errorf("%v calls a second from %d s on, want %v", sums[i], 10*i, want)
		}
	}
	s.Calls = Calls{At: []time.Duration{time.Second, time.Second, 3 * time.Second}}
	r = report(t, s, nil, 1)
	if c := r.Policies[0].Series; c[1].Calls != 2 || c[3].Calls != 1 {
		t.Errorf("a recording's calls arrive when they did: %v", c[:4])
	}
}

// one is a scenario with a single call of exactly 100 ms, or as changed.
func one(change func(*Scenario)) Scenario {
	s := Scenario{
		Name: "one", Duration: 10 * time.Second, Calls: Calls{At: []time.Duration{time.Second}},
		Servers: []Server{{Name: "a", Spread: Fixed}, {Name: "b", Spread: Fixed}},
	}
	change(&s)
	return s
}

func TestWhatBecomesOfACall(t *testing.T) {
	t.Parallel()
	all := func(s *Scenario, b Behaviour) {
		for i := range s.Servers {
			s.Servers[i].Behaviour = b
		}
	}
	for _, c := range []struct {
		name     string
		change   func(*Scenario)
		attempts float64
		failed   float64
		took     float64 // ms; 0: any
	}{
		{"answered", func(*Scenario) {}, 1, 0, 100},
		{"by a server of half the speed", func(s *Scenario) { all(s, Behaviour{Speed: 0.5}) }, 1, 0, 200},
		{"by one that is stuck", func(s *Scenario) { all(s, Behaviour{Stuck: 2 * time.Second}) }, 1, 0, 2000},
		{"every server fails", func(s *Scenario) { all(s, Behaviour{Fails: 1}) }, 3, 1, 0},
		{"with attempts for two", func(s *Scenario) { all(s, Behaviour{Fails: 1}); s.Attempts = 2 }, 2, 1, 0},
		{"every server is down", func(s *Scenario) { all(s, Behaviour{Down: true}) }, 3, 1, 0},
		{"a tool's error is an answer", func(s *Scenario) {
			all(s, Behaviour{ToolErrors: 1, ToolErrorsIn: 5 * time.Millisecond})
		}, 1, 0, 5},
		{"unsafe and of unknown outcome", func(s *Scenario) {
			all(s, Behaviour{Fails: 1})
			s.Effect = state.Unsafe
		}, 1, 1, 0},
		{"unsafe and refused", func(s *Scenario) { all(s, Behaviour{Down: true}); s.Effect = state.Unsafe }, 3, 1, 0},
		{"one is down", func(s *Scenario) {
			s.Servers[0].Down, s.Servers[1].Down = true, false
			s.Calls.At = make([]time.Duration, 1)
		}, 0, 0, 0},
		{"too slow for its timeout", func(s *Scenario) { all(s, Behaviour{Stuck: time.Second}); s.Timeout = 300 * time.Millisecond }, 3, 1, 0},
		{"hedged", func(s *Scenario) {
			all(s, Behaviour{Stuck: time.Second})
			s.Hedge.After = 250 * time.Millisecond
		}, 2, 0, 1000},
		{"not hedged when it is not safe", func(s *Scenario) {
			all(s, Behaviour{Stuck: time.Second})
			s.Hedge.After = 250 * time.Millisecond
			s.Effect = state.Conditional
		}, 1, 0, 1000},
		{"both are full and neither moves", func(s *Scenario) {
			all(s, Behaviour{Stuck: 8 * time.Second})
			s.Servers[0].MaxConcurrent, s.Servers[1].MaxConcurrent = 1, 1
			s.Calls.At = []time.Duration{0, 0, time.Second}
			s.Timeout, s.Warmup = 9*time.Second, time.Second
		}, 1, 0, 15000}, // it waited 7 s for a place
		{"both are full for too long", func(s *Scenario) {
			all(s, Behaviour{Stuck: 8 * time.Second})
			s.Servers[0].MaxConcurrent, s.Servers[1].MaxConcurrent = 1, 1
			s.Calls.At = []time.Duration{0, 0, 9 * time.Second, 9 * time.Second, 9500 * time.Millisecond}
			s.Timeout, s.Warmup = 9*time.Second, time.Second
		}, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &report(t, one(c.change), []string{Default}, 3).Policies[0]
			if got := figure(t, p, Attempts); c.attempts > 0 && got != c.attempts {
				t.Errorf("%v attempts, want %v", got, c.attempts)
			}
			if got := figure(t, p, Errors); got != c.failed {
				t.Errorf("%v of the calls failed, want %v", got, c.failed)
			}
			if c.took == 0 {
				return
			}
			if got := figure(t, p, P99); math.Abs(got-c.took) > 0.1 {
				t.Errorf("it took %v ms, want %v", got, c.took)
			}
		})
	}
}

func TestAServerThatGoesDownLosesWhatItWasDoing(t *testing.T) {
	t.Parallel()
	s := one(func(s *Scenario) {
		s.Servers = s.Servers[:1]
		s.Servers[0].Stuck = 5 * time.Second
		s.Servers[0].Changes = []Change{{At: 2 * time.Second, For: time.Millisecond, Behaviour: Behaviour{Down: true}}, {At: 2001 * time.Millisecond}}
	})
	p := &report(t, s, []string{Default}, 1).Policies[0]
	// Lost after 1 s, tried again there after a back-off of a quarter second at most.
	if got := figure(t, p, P99); got < 1100 || got > 1360 || figure(t, p, Attempts) < 2 {
		t.Errorf("it took %v ms in %v attempts", got, figure(t, p, Attempts))
	}
}

func TestLoadThatIsKnownLateMakesTheLeastLoadedAHerd(t *testing.T) {
	t.Parallel()
	s := Scenario{Name: "late", Duration: 30 * time.Second, Warmup: 5 * time.Second, Calls: Calls{Load: 0.8}, Servers: []Server{{Name: "even", Count: 5}}}
	now := figure(t, &report(t, s, []string{"join-shortest"}, 1, 2).Policies[0], P99)
	s.LoadAge = 2 * time.Second
	late := figure(t, &report(t, s, []string{"join-shortest"}, 1, 2).Policies[0], P99)
	if late < 3*now {
		t.Errorf("P99 %v ms, and %v ms where load is known two seconds late", now, late)
	}
}
