package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state"
	"junction/state/document"
)

const minimal = `lab: mine
duration: 10s
calls: {rate: 5}
servers: [{name: a}]
`

func TestAFileSaysAllThatAScenarioHas(t *testing.T) {
	all, err := Parse("mine.yaml", []byte(`
lab: mine
about: everything
duration: 2m
warmup: 0s
calls: {rates: [{at: 0s, rate: 0}, {at: 1m, rate: 2.5}]}
routers: 3
load_age: 1s
news_age: 2s
share: 375ms
attempts: 2
effect: conditional
timeout: 30s
hedge: {after: 250ms}
retry_share: 0.1
retry_floor: 5
slow: 2s
watch: odd-2
settle: 1s
servers:
  - name: odd
    count: 2
    workers: 4
    time: 50ms
    spread: lognormal
    sigma: 0.5
    latency_p95: 300ms
    max_concurrent: 8
    weight: 2
    joins: 1s
    leaves: 9s
    speed: 0.5
    changes:
      - {at: 0s, for: 5s, time: 1s, stuck: 3s, fails: 0.1, fails_in: 1ms, tool_errors: 0.2, tool_errors_in: 2ms, down: true}
policies: [default, uniform]
gate:
  - {metric: p99, at_most: 1.5, of: uniform}
  - {metric: within, at_least: 0.9}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Scenario{{
		Name: "mine", About: "everything", Duration: 2 * time.Minute,
		Calls:   Calls{Rates: []Rate{{0, 0}, {time.Minute, 2.5}}},
		Routers: 3, LoadAge: time.Second, NewsAge: 2 * time.Second, Share: 375 * time.Millisecond, Attempts: 2,
		Effect: state.Conditional, Timeout: 30 * time.Second, Hedge: Hedge{After: 250 * time.Millisecond},
		RetryShare: 0.1, RetryFloor: 5, Slow: 2 * time.Second, Watch: "odd-2", Settle: time.Second,
		Servers: []Server{{
			Name: "odd", Count: 2, Workers: 4, Time: 50 * time.Millisecond, Spread: Lognormal, Sigma: 0.5,
			LatencyP95: 300 * time.Millisecond, MaxConcurrent: 8, Weight: 2, Joins: time.Second, Leaves: 9 * time.Second,
			Behaviour: Behaviour{Speed: 0.5},
			Changes: []Change{{For: 5 * time.Second, Behaviour: Behaviour{
				Speed: 1, Mean: time.Second, Stuck: 3 * time.Second, Fails: 0.1, FailsIn: time.Millisecond,
				ToolErrors: 0.2, ToolErrorsIn: 2 * time.Millisecond, Down: true,
			}}},
		}},
		Policies: []string{"default", "uniform"},
		Gate:     []Check{{Metric: P99, AtMost: limit(1.5), Of: "uniform"}, {Metric: Within, AtLeast: limit(0.9)}},
	}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

func TestCasesDifferFromTheFileInWhatTheySay(t *testing.T) {
	all, err := Parse("mine.yaml", []byte(minimal+"cases:\n  - {name: one, hedge: {after: p90}}\n  - {name: two, servers: [{name: b}], about: other}\n"))
	if err != nil || len(all) != 2 {
		t.Fatal(len(all), err)
	}
	if s := all[0]; s.Name != "mine/one" || s.Hedge.Quantile != 0.9 || s.Servers[0].Name != "a" {
		t.Errorf("%+v", s)
	}
	if s := all[1]; s.Name != "mine/two" || s.Hedge.On() || s.Servers[0].Name != "b" || s.About != "other" {
		t.Errorf("%+v", s)
	}
}

func TestFaultsOfAScenarioNamePlaceAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelt key", minimal + "warm_up: 1s\n", `5:1: unknown key "warm_up" (did you mean "warmup"?)`},
		{"no name", strings.TrimPrefix(minimal, "lab: mine\n"), `1:1: the key "lab" is missing`},
		{"misspelt behaviour", minimal + "cases: [{name: x, servers: [{name: a, speeed: 2}]}]\n", `5:39: unknown key "speeed" (did you mean "speed"?)`},
		{"two rates", strings.Replace(minimal, "rate: 5", "rate: 5, load: 0.5", 1), "3:8: calls have exactly one of load, rate and rates (such as {load: 0.7})"},
		{"a share beyond 1", strings.Replace(minimal, "name: a", "name: a, fails: 1.5", 1), "4:28: a number from 0 to 1 is expected here, not 1.5"},
		{"speed 0", strings.Replace(minimal, "name: a", "name: a, speed: 0", 1), "4:28: a number above 0 is expected here"},
		{"text for a number", strings.Replace(minimal, "rate: 5", "rate: much", 1), "3:15: a number is expected here, not text"},
		{"unknown policy", minimal + "policies: [defualt]\n", `5:12: "defualt" is none of default, linear`},
		{"unknown metric", minimal + "gate: [{metric: p95, at_most: 1}]\n", `5:17: "p95" is none of p50, p99`},
		{"a check without a limit", minimal + "gate: [{metric: p99}]\n", "5:8: a check needs exactly one limit (write at_most or at_least)"},
		{"a quantile that is none", minimal + "hedge: {after: p100}\n", `5:16: "p100" is no quantile (such as p95, or a time such as 250ms)`},
		{"too many servers", strings.Replace(minimal, "{name: a}", "{name: a, count: 1000}, {name: b}", 1), "1:1: scenario mine: 1001 servers are not from 1 to 1000"},
		{"too many cases", minimal + "cases: [" + strings.Repeat("{name: x}, ", maxCases) + "{name: x}]\n", "5:8: a file has 100 cases at most, not 101"},
		{"no cases", minimal + "cases: []\n", "5:8: there are no cases (remove the key)"},
		{"nobody to watch", minimal + "watch: b\n", `1:1: scenario mine: there is no server "b" to watch`},
		{"two servers of a name", strings.Replace(minimal, "[{name: a}]", "[{name: a}, {name: a}]", 1), "1:1: scenario mine: there are two servers a"},
		{"a warm-up beyond the end", minimal + "warmup: 10s\n", "1:1: scenario mine: the warm-up 10s does not end within the duration 10s"},
		{"too many calls", strings.Replace(minimal, "rate: 5", "rate: 1e9", 1), "1:1: scenario mine: about 10000000000 calls are more than 5000000"},
		{"rates out of order", strings.Replace(minimal, "rate: 5", "rates: [{at: 5s, rate: 1}, {at: 1s, rate: 2}]", 1), "1:1: scenario mine: the rates are not in order of time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("mine.yaml", []byte(c.text))
			var fs document.Faults
			if !errors.As(err, &fs) {
				t.Fatalf("Parse = %v, want faults", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("faults:\n%v\nwant one with\n%s", err, c.want)
			}
			if len(fs) != 1 {
				t.Errorf("%d faults for one mistake:\n%v", len(fs), err)
			}
		})
	}
}

func TestEveryGateHasScenariosWithSomethingToHold(t *testing.T) {
	if len(Gates()) != 8 {
		t.Errorf("gates %v", Gates())
	}
	for _, name := range Gates() {
		all, err := Gate(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Name != name && !strings.HasPrefix(s.Name, name+"/") || (len(s.Gate) == 0) != (s.Name == "G4/all") || s.About == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if _, err := Gate("G9"); err == nil || !strings.Contains(err.Error(), "G1") {
		t.Errorf("G9: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	for _, name := range Gates() {
		data, err := GateFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse("fuzz.yaml", data)
		if err == nil && len(all) == 0 {
			t.Error("neither scenarios nor faults")
		}
		for i := range all {
			if err := all[i].validate(); err != nil {
				t.Error(err)
			}
		}
	})
}
