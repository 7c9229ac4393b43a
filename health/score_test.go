package health

import (
	"fmt"
	"testing"
	"time"
)

const ms = time.Millisecond

func healthy() Member {
	return Member{Reading: Reading{Success: 1, Uptime: 1, Memory: 1, Ramp: 1, Drift: 1}}
}

func with(change func(*Member)) Member {
	m := healthy()
	change(&m)
	return m
}

func TestLinearScore(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Member
		want float64
	}{
		{"nothing known", healthy(), 1},
		{"three quarters of everything", with(func(m *Member) {
			m.Calls, m.ErrorRate, m.P95, m.LatencyP95 = 100, 0.25, 250*ms, 1000*ms
			m.InFlight, m.MaxConcurrent, m.Uptime = 30, 120, 0.75
		}), 0.75},
		{"at its declared latency", with(func(m *Member) { m.P95, m.LatencyP95 = 850*ms, 850*ms }), 0.7},
		{"far past it: the term is clamped", with(func(m *Member) { m.P95, m.LatencyP95 = 8500*ms, 850*ms }), 0.7},
		{"a latency without a declared one", with(func(m *Member) { m.P95 = time.Hour }), 1},
		{"a declared latency without a sample", with(func(m *Member) { m.LatencyP95 = 850 * ms }), 1},
		{"no capacity", with(func(m *Member) { m.InFlight, m.MaxConcurrent = 8, 8 }), 0.8},
		{"more than its capacity", with(func(m *Member) { m.InFlight, m.MaxConcurrent = 80, 8 }), 0.8},
		{"no uptime", with(func(m *Member) { m.Uptime = 0 }), 0.9},
		{"error rate 1 over few calls: what the sum says", with(func(m *Member) { m.Calls, m.ErrorRate = 9, 1 }), 0.6},
		{"error rate 1 over ten calls: out", with(func(m *Member) { m.Calls, m.ErrorRate = 10, 1 }), 0},
		{"error rate one half: out", with(func(m *Member) { m.Calls, m.ErrorRate = 10, 0.5 }), 0},
		{"just below one half", with(func(m *Member) { m.Calls, m.ErrorRate = 100, 0.49 }), 0.804},
	} {
		t.Run(c.name, func(t *testing.T) {
			near(t, "score", LinearScore(c.m), c.want)
			var out [1]float64
			Linear{}.Rate([]Member{c.m}, out[:], nil)
			near(t, "rate", out[0], c.want)
		})
	}
}

func TestProductScore(t *testing.T) {
	peer := with(func(m *Member) { m.Latency = 100 * ms })
	for _, c := range []struct {
		name string
		m    Member
		want float64
	}{
		{"like its peers", peer, 1},
		{"no sample counts as the median", healthy(), 1},
		{"half its calls fail", with(func(m *Member) { m.Success = 0.5; m.Latency = 100 * ms }), 0.25},
		{"all its calls fail", with(func(m *Member) { m.Success = 0 }), 0},
		{"twice as slow", with(func(m *Member) { m.Latency = 200 * ms }), 0.5},
		{"four times as slow: cubed beyond twice", with(func(m *Member) { m.Latency = 400 * ms }), 0.0625},
		{"ten times as slow", with(func(m *Member) { m.Latency = 1000 * ms }), 0.004},
		{"ten times as slow, long ago", with(func(m *Member) { m.Latency, m.Memory = 1000*ms, 0 }), 1},
		{"stuck: clamped", with(func(m *Member) { m.Latency = time.Hour }), 1.0 / 500},
		{"twice as quick", with(func(m *Member) { m.Latency = 50 * ms }), 2},
		{"absurdly quick: clamped", with(func(m *Member) { m.Latency = 1 }), 4},
		{"16 in flight, undeclared", with(func(m *Member) { m.InFlight = 16 }), 0.5},
		{"one call for its usual latency, and no answer", with(func(m *Member) {
			m.Latency, m.Open, m.Silence = 100*ms, 1, 100*ms
		}), 1 / 1.7},
		{"five calls for as long", with(func(m *Member) { m.Latency, m.Open, m.Silence = 100*ms, 5, 100*ms }), 1 / (4.5 * 2.25 * 2.25)},
		{"silence counts for no more calls than there are places", with(func(m *Member) {
			m.Latency, m.Open, m.Silence, m.MaxConcurrent = 100*ms, 500, 100*ms, 5
		}), 1 / (4.5 * 2.25 * 2.25)},
		{"silence of one that never answered", with(func(m *Member) { m.Open, m.Silence = 5, 100*ms }), 1 / (4.5 * 2.25 * 2.25)},
		{"eight in flight of 24", with(func(m *Member) { m.InFlight, m.MaxConcurrent = 8, 24 }), 0.75},
		{"a few tool errors more than its peers", with(func(m *Member) { m.ToolErrors = 0.1 }), 1},
		{"half of its answers are the tool's errors", with(func(m *Member) { m.ToolErrors = 0.5 }), 0.25},
		{"all of them", with(func(m *Member) { m.ToolErrors = 1 }), toolErrorFloor},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := []Member{peer, c.m, peer, peer}
			out, scratch := make([]float64, 4), make([]float64, 4)
			Product{}.Rate(pool, out, scratch)
			near(t, "score", out[1], c.want)
			product := 1.0
			terms := make([]float64, 4)
			Product{}.Terms(pool, []int{1}, terms, scratch)
			for _, term := range terms {
				product *= term
			}
			near(t, "product of the terms", product, c.want)
		})
	}
}

func TestToolErrorsThatAllServersGiveAreNoIllness(t *testing.T) {
	m := with(func(m *Member) { m.ToolErrors = 0.9 })
	out, scratch := make([]float64, 3), make([]float64, 3)
	Product{}.Rate([]Member{m, m, m}, out, scratch)
	near(t, "score", out[0], 1)
}

func TestWhereNobodyEverAnsweredSilenceSaysNothing(t *testing.T) {
	m := with(func(m *Member) { m.Open, m.Silence = 1, time.Minute })
	out, scratch := make([]float64, 2), make([]float64, 2)
	Product{}.Rate([]Member{m, healthy()}, out, scratch)
	near(t, "score", out[0], 1)
}

func TestScoresOfNobody(t *testing.T) {
	for _, s := range []Score{Product{}, Linear{}} {
		s.Rate(nil, nil, nil) // must not panic
	}
}

func ExampleLinearScore() {
	m := Member{
		Reading:  Reading{Calls: 200, ErrorRate: 0.05, P95: 170 * time.Millisecond, InFlight: 12, Uptime: 1},
		Declared: Declared{LatencyP95: 850 * time.Millisecond, MaxConcurrent: 120},
	}
	fmt.Printf("%.2f\n", LinearScore(m))
	// Output: 0.90
}
