package past

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router/lab"
	"junction/state"
)

var begin = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// made is an attempt of a hop of its own.
func made(n int, server string, at, took time.Duration, status state.CallStatus) state.Record {
	return state.Record{
		Thread: "t", Hop: fmt.Sprint("h", n), Round: 1, Attempt: 1, Capability: "code-review", Server: server, Effect: state.Safe,
		Max: 30 * time.Second, Status: status, Started: begin.Add(at), Duration: took,
	}
}

// twoServers are ten minutes of two servers, a call a second each; b takes ten times as
// long in minutes 3 and 4, fails each second call in minute 5, and gets none in 6.
func twoServers() []state.Record {
	var all []state.Record
	for s := range 600 {
		at := time.Duration(s)*time.Second + 500*time.Millisecond
		all = append(all, made(2*s, "a", at, 100*time.Millisecond, state.CallSuccess))
		took, status := 100*time.Millisecond, state.CallSuccess
		switch s / 60 {
		case 3, 4:
			took = time.Second
		case 5:
			if s%2 == 0 {
				took, status = 5*time.Millisecond, state.CallError
			}
		case 6:
			continue
		}
		all = append(all, made(2*s+1, "b", at, took, status))
	}
	return all
}

func TestAScenarioIsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	p, err := Read(twoServers(), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Scenario
	if len(s.Calls.At) != 1140 || s.Calls.At[0] != 500*time.Millisecond || s.Duration != 10*time.Minute || s.Effect != state.Safe || s.Timeout != 30*time.Second || s.Watch != "b" {
		t.Errorf("%d calls, first at %v, duration %v, %s, timeout %v, watches %s", len(s.Calls.At), s.Calls.At[0], s.Duration, s.Effect, s.Timeout, s.Watch)
	}
	want := []lab.Server{
		{Name: "a", Count: 1, Workers: 8, Time: 100 * time.Millisecond, Spread: lab.Fixed},
		{Name: "b", Count: 1, Workers: 8, Time: 100 * time.Millisecond, Spread: lab.Fixed, Changes: []lab.Change{
			{At: 3 * time.Minute, For: 2 * time.Minute, Behaviour: lab.Behaviour{Mean: time.Second}},
			// The sixth minute is taken for like the fifth.
			{At: 5 * time.Minute, For: 2 * time.Minute, Behaviour: lab.Behaviour{Fails: 0.5, FailsIn: 5 * time.Millisecond}},
		}},
	}
	if d := cmp.Diff(want, s.Servers); d != "" {
		t.Error(d)
	}
	if a := p.Actual; a.Calls != 1140 || a.Attempts != 1 || math.Abs(a.Errors-30.0/1140) > 1e-9 || a.P50 != 100 || a.P99 != 1000 || math.Abs(a.Share-540.0/1140) > 1e-9 {
		t.Errorf("actual: %+v", a)
	}
	if len(p.Unknown) < 5 {
		t.Errorf("it claims to know all but %q", p.Unknown)
	}
}

func TestACallsAttemptsAreOneCall(t *testing.T) {
	t.Parallel()
	first := made(1, "b", time.Second, 200*time.Millisecond, state.CallTimeout)
	second := made(1, "a", 1300*time.Millisecond, 100*time.Millisecond, state.CallSuccess)
	second.Attempt = 2
	none := made(2, "", 2*time.Second, 0, state.CallRejected)
	none.Attempt = 0
	open := made(3, "a", 3*time.Second, 0, state.CallOpen)
	other := made(4, "c", 3*time.Second, time.Second, state.CallSuccess)
	other.Capability = "build"
	cut := made(5, "a", 4*time.Second, time.Minute, state.CallCancelled) // with its run: it came, and says nothing of a
	cut.Code = "MCP_CANCELLED"
	p, err := Read([]state.Record{second, first, none, open, other, cut}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Actual; a.Calls != 3 || math.Abs(a.Attempts-2.0/3) > 1e-9 || math.Abs(a.Errors-1.0/3) > 1e-9 || a.P50 != 400 || a.P99 != 400 || a.Capability != "code-review" {
		t.Errorf("actual: %+v", a)
	}
	if v := p.Scenario.Servers; len(v) != 2 || len(v[0].Changes) != 0 || len(v[1].Changes) != 1 {
		t.Errorf("servers: %+v", v)
	}
}

func TestServersAndCapabilityAreSelected(t *testing.T) {
	t.Parallel()
	p, err := Read(twoServers(), nil, Options{Capability: "code-review", Servers: []string{"a"}})
	if err != nil || len(p.Scenario.Servers) != 1 || p.Scenario.Watch != "a" || p.Actual.Calls != 600 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Read(twoServers(), nil, Options{Capability: "build"}); !errors.Is(err, ErrNothing) {
		t.Errorf("of a capability that nobody called: %v", err)
	}
	if _, err := Read(nil, nil, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestSamplesTellOfWorkersAndOfMinutesWithoutACall(t *testing.T) {
	t.Parallel()
	records := twoServers()
	sample := func(worker string, n, calls int, probe string) state.HealthSample {
		return state.HealthSample{Server: "b", Capability: "code-review", Worker: worker, Minute: begin.Add(time.Duration(n) * time.Minute), Calls: calls, Probe: probe}
	}
	p, err := Read(records, []state.HealthSample{sample("w1", 2, 9, ""), sample("w2", 3, 9, "no answer"), sample("w2", 6, 0, "no answer"), sample("w3", -5, 9, "")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Scenario.Routers != 2 {
		t.Errorf("%d routers", p.Scenario.Routers)
	}
	changes := p.Scenario.Servers[1].Changes
	if last := changes[len(changes)-1]; last.At != 6*time.Minute || last.Fails != 1 || last.For != time.Minute {
		t.Errorf("changes: %+v", changes)
	}
}

func TestTimesThatVaryAreTakenForLognormal(t *testing.T) {
	t.Parallel()
	var all []state.Record
	for n := range 300 {
		took := 50 * time.Millisecond
		if n%3 == 0 {
			took = 200 * time.Millisecond
		}
		all = append(all, made(n, "a", time.Duration(n)*200*time.Millisecond, took, state.CallSuccess))
	}
	p, err := Read(all, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Scenario.Servers[0]; v.Spread != lab.Lognormal || v.Sigma < 0.5 || v.Sigma > 0.8 || v.Time != 100*time.Millisecond {
		t.Errorf("%+v", v)
	}
}

func TestTheFileIsReadAsTheScenarioItWasWrittenFrom(t *testing.T) {
	t.Parallel()
	records := twoServers()
	for i := range records {
		if records[i].Server == "b" {
			records[i].Server = "b: {odd} \"name\""
		}
	}
	p, err := Read(records, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := p.YAML()
	got, err := lab.Parse("history.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(got) != 1 || got[0].Watch != p.Scenario.Watch || got[0].Duration != p.Scenario.Duration || len(got[0].Servers) != 2 || len(got[0].Calls.Rates) != 10 || got[0].Calls.Rates[6].Rate != 1 || got[0].Calls.Rates[0].Rate != 2 {
		t.Errorf("%+v", got)
	}
	if n := len(got[0].Servers[1].Changes); n != 2 {
		t.Errorf("%d changes", n)
	}
	if !strings.Contains(text, "# What the records do not tell") {
		t.Error("the file does not say what is not known")
	}
}

func TestTheLabComesNearToWhatWasRecordedUnderTheSamePolicy(t *testing.T) {
	t.Parallel()
	p, err := Read(twoServers(), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lab.Run(t.Context(), p.Scenario, []string{"uniform", lab.Default}, lab.Seeds(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	share := func(i int) float64 {
		all, slow := 0.0, 0.0
		for _, s := range r.Policies[i].Series[180:300] {
			all, slow = all+1, slow+s.Share
		}
		return slow / all
	}
	if u := share(0); u < 0.4 || u > 0.6 {
		t.Errorf("uniform sends the slow server %.2f", u)
	}
	if d := share(1); d > 0.25 {
		t.Errorf("the default policy sends the slow server %.2f", d)
	}
}
