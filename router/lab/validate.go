package lab

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"junction/state"
)

// Bounds of a scenario, so that no file makes a run endless.
const (
	maxDuration = 24 * time.Hour
	maxServers  = 1000
	maxRouters  = 1000
	maxCalls    = 5_000_000
	maxCases    = 100
)

func (s Scenario) withDefaults() Scenario {
	s.Routers = orElse(s.Routers, 1)
	s.Attempts = orElse(s.Attempts, 3)
	s.Effect = orElse(s.Effect, state.Safe)
	s.Timeout = orElse(s.Timeout, 5*time.Minute)
	s.Slow = orElse(s.Slow, time.Second)
	s.Settle = orElse(s.Settle, 3*time.Second)
	s.RetryShare = orElse(s.RetryShare, 0.2)
	s.RetryFloor = orElse(s.RetryFloor, 3)
	if len(s.Policies) == 0 {
		s.Policies = []string{Default}
	}
	s.Servers = slices.Clone(s.Servers)
	for i := range s.Servers {
		v := &s.Servers[i]
		v.Count = orElse(v.Count, 1)
		v.Workers = orElse(v.Workers, 8)
		v.Time = orElse(v.Time, 100*time.Millisecond)
		v.Spread = orElse(v.Spread, Exponential)
		v.Sigma = orElse(v.Sigma, 1)
		v.Speed = orElse(v.Speed, 1)
		v.Changes = slices.Clone(v.Changes)
		for k := range v.Changes {
			v.Changes[k].Speed = orElse(v.Changes[k].Speed, 1)
		}
	}
	return s
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// validate says what keeps a scenario, with its defaults, from being run.
func (s *Scenario) validate() error {
	var all []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf("scenario %s: "+format, append([]any{s.Name}, args...)...))
		}
	}
	fault(s.Duration <= 0 || s.Duration > maxDuration, "the duration %s is not above 0 and at most %s", s.Duration, maxDuration)
	fault(s.Warmup < 0 || s.Warmup >= s.Duration, "the warm-up %s does not end within the duration %s", s.Warmup, s.Duration)
	fault(s.Routers < 1 || s.Routers > maxRouters, "%d routers are not from 1 to %d", s.Routers, maxRouters)
	fault(s.Attempts < 1 || s.LoadAge < 0 || s.NewsAge < 0 || s.Share < 0 || s.Timeout < 0 || s.Slow < 0 || s.Settle < 0, "a time or number is below 0")
	fault(s.RetryShare < 0 || s.RetryFloor < 0, "a retry budget is below 0")
	fault(s.Hedge.After < 0 || s.Hedge.Quantile < 0 || s.Hedge.Quantile >= 1, "hedging after %s, past quantile %v, means nothing", s.Hedge.After, s.Hedge.Quantile)
	fault(s.Calls.given() != 1, "calls need exactly one of a load, a rate, rates and times")
	fault(s.Calls.Load < 0 || s.Calls.Rate < 0, "a rate of calls is below 0")
	fault(!slices.IsSortedFunc(s.Calls.Rates, func(a, b Rate) int { return int(a.At - b.At) }), "the rates are not in order of time")
	fault(!slices.IsSorted(s.Calls.At), "the calls are not in order of time")
	fault(s.servers() == 0 || s.servers() > maxServers, "%d servers are not from 1 to %d", s.servers(), maxServers)
	if len(all) > 0 {
		return errors.Join(all...) // names may be too many to look at
	}
	names := map[string]bool{}
	for i := range s.Servers {
		v := &s.Servers[i]
		for _, name := range v.names() {
			fault(names[name], "there are two servers %s", name)
			names[name] = true
		}
		fault(!v.sound(), "a number or time of server %s is out of bounds", v.Name)
	}
	fault(s.Watch != "" && !names[s.Watch], "there is no server %q to watch", s.Watch)
	for _, c := range s.Gate {
		fault(!slices.Contains(Metrics(), c.Metric), "there is no metric %q", c.Metric)
		fault((c.AtMost == nil) == (c.AtLeast == nil), "a check of %s needs at most or at least", c.Metric)
	}
	if len(all) == 0 {
		expected := s.expected()
		fault(!(expected <= maxCalls), "about %.0f calls are more than %d", expected, maxCalls)
	}
	return errors.Join(all...)
}

func (c *Calls) given() int {
	n := 0
	for _, is := range []bool{c.Load != 0, c.Rate != 0, len(c.Rates) > 0, len(c.At) > 0} {
		if is {
			n++
		}
	}
	return n
}

func (s *Scenario) servers() int {
	n := 0
	for i := range s.Servers {
		n += max(s.Servers[i].Count, 0)
	}
	return n
}

func (v *Server) names() []string {
	if v.Count == 1 {
		return []string{v.Name}
	}
	all := make([]string, v.Count)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", v.Name, i+1)
	}
	return all
}

func (v *Server) sound() bool {
	ok := v.Count > 0 && v.Workers > 0 && v.Time > 0 && v.Sigma > 0 && v.Weight >= 0 && v.MaxConcurrent >= 0 &&
		v.LatencyP95 >= 0 && v.Joins >= 0 && v.Leaves >= 0 && v.Behaviour.sound() &&
		slices.Contains([]Spread{Exponential, Fixed, Lognormal}, v.Spread)
	for _, c := range v.Changes {
		ok = ok && c.At >= 0 && c.For >= 0 && c.Behaviour.sound()
	}
	return ok
}

func (b *Behaviour) sound() bool {
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	return b.Speed > 0 && b.Mean >= 0 && b.Stuck >= 0 && b.FailsIn >= 0 && b.ToolErrorsIn >= 0 && share(b.Fails) && share(b.ToolErrors)
}

// capacity is how many calls a second the server does when in order.
func (v *Server) capacity() float64 {
	return float64(v.Workers) / v.Time.Seconds()
}

// rates are the calls a second that arrive, from each time on; none where the
// calls' times are given.
func (s *Scenario) rates() []Rate {
	switch {
	case s.Calls.Load > 0:
		capacity := 0.0
		for i := range s.Servers {
			if v := &s.Servers[i]; v.Joins == 0 {
				capacity += float64(v.Count) * v.capacity()
			}
		}
		return []Rate{{Rate: s.Calls.Load * capacity}}
	case s.Calls.Rate > 0:
		return []Rate{{Rate: s.Calls.Rate}}
	}
	return s.Calls.Rates
}

// expected is how many calls will arrive.
func (s *Scenario) expected() float64 {
	if len(s.Calls.At) > 0 {
		return float64(len(s.Calls.At))
	}
	rates, n := s.rates(), 0.0
	for i, r := range rates {
		until := s.Duration
		if i+1 < len(rates) {
			until = min(until, rates[i+1].At)
		}
		n += r.Rate * max(until-r.At, 0).Seconds()
	}
	return n
}
