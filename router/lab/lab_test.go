package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden report anew")

func report(t *testing.T, s Scenario, policies []string, seeds ...uint64) Report {
	t.Helper()
	r, err := Run(t.Context(), s, policies, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func figure(t *testing.T, p *PolicyReport, m Metric) float64 {
	t.Helper()
	f, ok := p.Figure(m)
	if !ok {
		t.Fatalf("no figure %s", m)
	}
	return f.Mean
}

func limit(x float64) *float64 { return &x }

// small has a bit of everything.
func small() Scenario {
	return Scenario{
		Name: "small", About: "a bit of everything", Duration: 12 * time.Second, Warmup: 2 * time.Second,
		Calls: Calls{Load: 0.5}, Routers: 2, Share: 400 * time.Millisecond, Hedge: Hedge{Quantile: 0.95}, Watch: "odd",
		Servers: []Server{
			{Name: "even", Count: 3, Workers: 2},
			{Name: "odd", Workers: 2, Spread: Lognormal, Changes: []Change{{At: 4 * time.Second, For: 4 * time.Second, Behaviour: Behaviour{Fails: 0.3, Speed: 0.2}}}},
			{Name: "new", Workers: 2, Joins: 5 * time.Second, Leaves: 9 * time.Second},
		},
		Policies: []string{Default, "two-choice"},
		Gate:     []Check{{Metric: P99, AtMost: limit(1.5), Of: "uniform"}, {Metric: Errors, AtMost: limit(0.5)}},
	}
}

func TestTheSameSeedsGiveTheSameReportByteForByte(t *testing.T) {
	t.Parallel()
	encode := func() []byte {
		b, err := json.MarshalIndent(report(t, small(), nil, 1, 2), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return append(b, '\n')
	}
	got := encode()
	if again := encode(); !bytes.Equal(got, again) {
		t.Fatal("two runs differ")
	}
	golden := filepath.Join("testdata", "small.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var one, two Report
	if err := errors.Join(json.Unmarshal(got, &one), json.Unmarshal(want, &two)); err != nil {
		t.Fatal(err)
	}
	// Another kind of processor may round another way, so figures are compared.
	for i, p := range two.Policies {
		for k, f := range p.Figures {
			if g := one.Policies[i].Figures[k]; g.Metric != f.Metric || math.Abs(g.Mean-f.Mean) > 0.02*math.Abs(f.Mean) {
				t.Errorf("%s: %s is %v, was %v: if the choice was changed on purpose, run go test -update", p.Policy, f.Metric, g.Mean, f.Mean)
			}
		}
	}
}

func TestEveryCallEndsOnceAndEveryAttemptIsCounted(t *testing.T) {
	t.Parallel()
	s := small().withDefaults()
	s.Servers[0].Changes = []Change{{At: 6 * time.Second, For: time.Second, Behaviour: Behaviour{Down: true, Speed: 1}}}
	for _, policy := range PolicyNames() {
		w := newWorld(&s, policy, 7)
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended, failed, sent := 0, 0, 0
		for _, sec := range w.tally.seconds {
			ended += sec.calls
			failed += sec.errors
		}
		for i := range w.calls {
			c := &w.calls[i]
			sent += c.sent
			if !c.done || len(c.flying) > 0 || c.ended < c.arrived {
				t.Errorf("%s: call %d: %+v", policy, i, c)
			}
		}
		if ended != len(w.calls) || sent != len(w.attempts) || len(w.calls) < 400 {
			t.Errorf("%s: %d of %d calls ended, %d attempts of %d", policy, ended, len(w.calls), sent, len(w.attempts))
		}
		if failed == ended {
			t.Errorf("%s: every call failed", policy)
		}
		for i := range w.attempts {
			if a := &w.attempts[i]; !a.ended {
				t.Errorf("%s: attempt %d did not end", policy, i)
			}
		}
		for n, b := range w.routers {
			for i := range b.servers {
				if load := inFlight(b, i, w.now()); load != 0 {
					t.Errorf("%s: router %d counts %d calls in flight at %d after the end", policy, n, load, i)
				}
			}
		}
	}
}

func TestAnUnknownPolicyASeedlessRunAndACancelledOneAreErrors(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), small(), []string{"nicest"}, Seeds(1, 1)); !is[*UnknownPolicyError](err) {
		t.Errorf("unknown policy: %v", err)
	}
	if _, err := Run(t.Context(), small(), []string{Default, Default}, Seeds(1, 1)); err == nil {
		t.Error("a policy twice")
	}
	if _, err := Run(t.Context(), small(), nil, nil); err == nil {
		t.Error("no seeds")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, small(), nil, Seeds(1, 4)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestAPolicyThatACheckNamesRunsToo(t *testing.T) {
	t.Parallel()
	calls := 0
	r, err := RunWith(t.Context(), small(), []string{Default}, Seeds(1, 2), func(finished, all int) {
		if calls++; finished != calls || all != 4 {
			t.Errorf("run %d of %d after %d calls", finished, all, calls)
		}
	})
	if err != nil || calls != 4 {
		t.Fatalf("%v after %d runs", err, calls)
	}
	if len(r.Policies) != 2 || r.Policies[1].Policy != "uniform" {
		t.Errorf("policies %v", r.Policies)
	}
	if len(r.Verdicts) != 3 { // uniform is not compared with itself
		t.Errorf("verdicts %+v", r.Verdicts)
	}
}

func TestIntervalsAreStudents(t *testing.T) {
	mean, low, high := interval([]float64{1, 2, 3, 4})
	// t(3) = 3.182, s = 1.29099, √4 = 2
	if mean != 2.5 || math.Abs(high-mean-3.182*1.290994/2) > 1e-5 || math.Abs(mean-low-(high-mean)) > 1e-12 {
		t.Errorf("%v [%v, %v]", mean, low, high)
	}
	if mean, low, high := interval([]float64{7}); mean != 7 || low != 7 || high != 7 {
		t.Error("a single seed has no interval")
	}
	if x := student(40); math.Abs(x-2.021) > 0.002 {
		t.Errorf("t(40) = %v", x)
	}
}

func TestEventsComeInOrderOfTimeThenOfPlanning(t *testing.T) {
	var a agenda
	for i, at := range []time.Duration{5, 1, 3, 1, 9, 5, 0} {
		a.add(at, arrives, i)
	}
	var got []int
	for range a.heap {
		got = append(got, a.next().of)
	}
	if _, more := a.peek(); more {
		t.Error("there are more")
	}
	if !slices.Equal(got, []int{6, 1, 3, 2, 0, 5, 4}) {
		t.Errorf("order %v", got)
	}
}
