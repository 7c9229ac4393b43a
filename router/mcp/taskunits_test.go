package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

func TestHowOftenATaskIsAskedFor(t *testing.T) {
	const long = time.Hour
	for name, tc := range map[string]struct {
		suggested, idle time.Duration
		n               int
		want            time.Duration // at least, and a tenth more at most
	}{
		"as the server says":             {5 * time.Second, long, 1, 5 * time.Second},
		"no quicker than sense has it":   {time.Millisecond, long, 1, quickestPoll},
		"no slower either":               {long, long, 1, slowestPoll},
		"quickly at first, when unsaid":  {0, long, 1, quickestPoll},
		"then less quickly":              {0, long, 3, 200 * time.Millisecond},
		"then as is usual":               {0, long, 6, usualPoll},
		"for as long as it takes":        {0, long, 1 << 40, usualPoll},
		"within the idle time":           {5 * time.Second, 2 * time.Second, 1, time.Second},
		"but not without any limit":      {5 * time.Second, time.Millisecond, 1, quickestPoll},
		"nonsense of a server is unsaid": {-time.Second, long, 9, usualPoll},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[time.Duration]bool{}
			for seed := range uint64(20) {
				got := pollAfter(tc.suggested, tc.idle, tc.n, seed)
				if got < tc.want || got > tc.want+tc.want/10 {
					t.Fatalf("%v with seed %d, want %v and up to a tenth more", got, seed, tc.want)
				}
				if got != pollAfter(tc.suggested, tc.idle, tc.n, seed) {
					t.Fatal("the same seed gives another wait")
				}
				seen[got] = true
			}
			if len(seen) < 10 {
				t.Errorf("20 clients ask at %d times", len(seen))
			}
		})
	}
}

func TestATaskAsServersTellIt(t *testing.T) {
	now := time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		raw    string
		modern bool
		want   *state.RemoteTask // nil: MCP_OUTPUT_INVALID
	}{
		"modern":            {`{"resultType":"task","taskId":"a","status":"working","createdAt":"x","ttlMs":60000,"pollIntervalMs":5000}`, true, &state.RemoteTask{ID: "a", Created: now, TTL: time.Minute, Poll: 5 * time.Second}},
		"modern, for ever":  {`{"resultType":"task","taskId":"a","status":"working","ttlMs":null}`, true, &state.RemoteTask{ID: "a", Created: now}},
		"legacy":            {`{"task":{"taskId":"a","ttl":60000.0,"pollInterval":1.5}}`, false, &state.RemoteTask{ID: "a", Created: now, TTL: time.Minute, Poll: 1500 * time.Microsecond}},
		"numbers of no use": {`{"taskId":"a","ttlMs":1e300,"pollIntervalMs":-5}`, true, &state.RemoteTask{ID: "a", Created: now}},
		"no id":             {`{"resultType":"task","status":"working"}`, true, nil},
		"no task":           {`{"task":null}`, false, nil},
		"an id of a size":   {`{"taskId":"` + strings.Repeat("x", longestTaskID+1) + `"}`, true, nil},
		"an id that is odd": {`{"taskId":7}`, true, nil},
		"half":              {`{"taskId":`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, e := readTask(json.RawMessage(tc.raw), tc.modern, now)
			if tc.want == nil {
				if e == nil || e.Code != router.OutputInvalid || e.Execution != state.Unknown {
					t.Errorf("%+v, %v", got, e)
				}
				return
			}
			if e != nil {
				t.Fatal(e)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTasksAreAskedForOnlyWhereTheServerOffersThem(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{"tasks":{"requests":{"tools":{"call":{}}}}}`:   true,
		`{"tasks":{"requests":{"tools":{"call":null}}}}`: false,
		`{"tasks":{"requests":{"tools":{}}}}`:            false,
		`{"tasks":{"list":{},"cancel":{}}}`:              false,
		`{"tasks":true}`:                                 false,
		`{}`:                                             false,
		``:                                               false,
	} {
		if got := offersTasks(json.RawMessage(capabilities)); got != want {
			t.Errorf("%s: %v", capabilities, got)
		}
	}
}

func TestNewsOfATaskSetsTheIdleClockBackAndNeverTheMaximum(t *testing.T) {
	const ms = time.Millisecond
	c := coordinator{span: 500 * ms, idle: 500 * ms, maximum: 2000 * ms}
	if !c.begin(0, 7) || c.answer(100*ms, 7) != noStray || !c.goesOn(100*ms) {
		t.Fatal("the call does not go on")
	}
	for _, at := range []time.Duration{400, 800, 1200, 1600, 1999} {
		if !c.stirs(at * ms) {
			t.Fatalf("ended at %d ms", at)
		}
	}
	if c.stirs(2000*ms) || c.phase != timedOut || c.ranOut != maximumClock {
		t.Errorf("phase %d, clock %d", c.phase, c.ranOut)
	}
	c = coordinator{span: 500 * ms, idle: 500 * ms, maximum: 2000 * ms}
	c.begin(0, 7)
	c.stirs(100 * ms)
	if c.stirs(600*ms) || c.ranOut != idleClock {
		t.Errorf("the idle clock did not end: %d", c.ranOut)
	}
	c = coordinator{span: 500 * ms, idle: 500 * ms, maximum: 2000 * ms}
	c.begin(0, 7)
	c.ask(400 * ms)
	c.stirs(900 * ms)
	c.replied(1000 * ms)
	if due := c.due(); due != 1500*ms {
		t.Errorf("after an answer the idle clock ends at %v", due)
	}
}
