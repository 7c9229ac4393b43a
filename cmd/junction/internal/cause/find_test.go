package cause

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// noon is when the failing call of these tests began.
var noon = time.Date(2026, 11, 30, 12, 0, 30, 0, time.UTC)

func decision(t *testing.T, d router.Decision) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// call is a record as the router writes it, that began so long before noon.
func call(server string, ago time.Duration, status state.CallStatus, code router.Code, x state.Execution, message string) state.Record {
	return state.Record{
		Thread: "t", Node: "review", Task: "x", Hop: "h", Name: "1", Round: 1, Attempt: 1, Capability: "code-review", Server: server,
		Tool: "review", Effect: state.Safe, Status: status, Code: string(code), Execution: x, Message: message,
		Started: noon.Add(-ago), Duration: 200 * time.Millisecond, Final: status == state.CallSuccess,
	}
}

func answered(server string, ago time.Duration) state.Record {
	return call(server, ago, state.CallSuccess, "", "", "")
}

// refusal is a record of what was not sent.
func refusal(message string, d json.RawMessage) state.Record {
	r := call("", 0, state.CallRejected, "", state.NotExecuted, message)
	r.Attempt, r.Tool, r.Decision = 0, "", d
	return r
}

// minutes are samples of a server, the last of them noon's, of so many calls and
// failures each.
func minutes(server string, code router.Code, of ...[2]int) []state.HealthSample {
	var all []state.HealthSample
	for i, m := range of {
		h := state.HealthSample{
			Server: server, Capability: "code-review", Worker: "w", Calls: m[0], Failures: m[1], Score: 1 - float64(m[1])/float64(max(m[0], 1)),
			Minute: noon.Truncate(time.Minute).Add(time.Duration(i+1-len(of)) * time.Minute), P95: 300 * time.Millisecond,
		}
		if m[1] > 0 {
			h.Codes = map[string]int{string(code): m[1]}
		}
		all = append(all, h)
	}
	return all
}

func failure(code string) *state.Failure {
	return &state.Failure{Code: code, Message: "it failed", Node: "review"}
}

func TestEachKnownCauseIsFoundFromWhatIsKeptOfIt(t *testing.T) {
	t.Parallel()
	timeout := func(clock string) state.Record {
		return call("a", 0, state.CallTimeout, router.Timeout, state.Unknown, clock+" clock: no answer within 2s")
	}
	down := call("a", 0, state.CallError, router.Transport, state.NotExecuted, "dial tcp 127.0.0.1:9: connect: connection refused")
	torn := call("a", 0, state.CallError, router.Transport, state.Unknown, "unexpected EOF")
	quota := answered("a", 0)
	quota.IsError = true
	quotas := minutes("a", "", [2]int{90, 0}, [2]int{120, 0})
	quotas[1].ToolErrors = 110
	rejected := func(d router.Decision) state.Record { return refusal("no server", decision(t, d)) }
	overloaded := call("a", 0, state.CallError, router.ServerOverload, state.NotExecuted, "429")
	full := minutes("a", router.ServerOverload, [2]int{50, 20})
	for _, c := range []struct {
		name    string
		code    string
		records []state.Record
		samples []state.HealthSample
		want    Kind
		says    string
	}{
		{"a server that refuses connections is down", "MCP_TRANSPORT", []state.Record{down}, minutes("a", router.Transport, [2]int{40, 0}, [2]int{30, 30}), Down, "start it"},
		{"without a history the thread's own calls tell", "MCP_TRANSPORT", []state.Record{down}, nil, Down, "start it"},
		{"a connection that broke at a server that is well is the network's", "MCP_TRANSPORT", []state.Record{torn}, minutes("a", router.Transport, [2]int{40, 0}, [2]int{30, 1}), Network, "firewall"},
		{"a name that nobody knows is the network's", "MCP_TRANSPORT", []state.Record{call("a", 0, state.CallError, router.Transport, state.Unknown, "dial tcp: lookup a.example: no such host")}, nil, Network, "name service"},
		{"connections that break everywhere are the network's", "MCP_TRANSPORT",
			[]state.Record{call("b", time.Second, state.CallError, router.Transport, state.Unknown, "connection reset by peer"), torn},
			append(minutes("a", router.Transport, [2]int{9, 9}), minutes("b", router.Transport, [2]int{8, 8})...), Network, "proxy"},
		{"a server that works, fails and works again flaps", "MCP_TRANSPORT", []state.Record{torn}, minutes("a", router.Transport, [2]int{9, 9}, [2]int{9, 0}, [2]int{9, 8}, [2]int{9, 0}, [2]int{9, 9}), Flapping, "restarts"},
		{"one that fails inside now and then flaps, too", "MCP_SERVER_ERROR", []state.Record{call("a", 0, state.CallError, router.ServerError, state.Unknown, "-32603")}, minutes("a", router.ServerError, [2]int{9, 0}, [2]int{9, 8}, [2]int{9, 0}, [2]int{9, 9}), Flapping, "restarts"},
		{"one that fails inside all the time is broken", "MCP_SERVER_ERROR", []state.Record{call("a", 0, state.CallError, router.ServerError, state.Unknown, "-32603")}, minutes("a", router.ServerError, [2]int{9, 9}), Broken, "own log"},
		{"a server that answers others in time is slow", "MCP_TIMEOUT", []state.Record{timeout("maximum")}, minutes("a", router.Timeout, [2]int{40, 10}), Slow, "raise the node's timeout"},
		{"one that answers nobody hangs", "MCP_TIMEOUT", []state.Record{timeout("idle")}, minutes("a", router.Timeout, [2]int{4, 4}, [2]int{3, 3}), Hangs, "restart it"},
		{"one that is late and turns others away is overloaded", "MCP_TIMEOUT", []state.Record{timeout("maximum")}, full, Overloaded, "add a replica"},
		{"one that turns work away is overloaded", "MCP_SERVER_OVERLOAD", []state.Record{overloaded}, full, Overloaded, "add a replica"},
		{"the caller's own deadline is no server's fault", "MCP_TIMEOUT", []state.Record{timeout("caller")}, minutes("a", router.Timeout, [2]int{40, 0}), Deadline, "--timeout"},
		{"which ends a run as a cancel does", "cancelled", []state.Record{timeout("caller")}, nil, Deadline, "--timeout"},
		{"a cancel is nobody's fault", "cancelled", []state.Record{call("a", 0, state.CallCancelled, router.Cancelled, state.Unknown, "")}, nil, Stopped, "nothing"},
		{"a deadline before anything was sent", "deadline", []state.Record{refusal("the time is over", nil)}, nil, Deadline, "--timeout"},
		{"a credential that is missing", "MCP_AUTH_REQUIRED", []state.Record{call("a", 0, state.CallError, router.AuthRequired, state.NotExecuted, "401")}, nil, Auth, "credential"},
		{"a credential that is refused", "MCP_AUTH_MISMATCH", []state.Record{call("a", 0, state.CallError, router.AuthMismatch, state.NotExecuted, "403")}, nil, Auth, "credential"},
		{"a tool that fitted before has drifted", "MCP_CAPABILITY_MISMATCH", []state.Record{answered("a", time.Minute), call("a", 0, state.CallError, router.CapabilityMismatch, state.NotExecuted, "missing property code")}, nil, Drifted, "it worked before"},
		{"answers that fitted others before have drifted", "MCP_OUTPUT_INVALID", []state.Record{call("a", 0, state.CallError, router.OutputInvalid, state.Unknown, "issues: not an array")}, minutes("a", router.OutputInvalid, [2]int{40, 3}), Drifted, "schema"},
		{"a tool that never fitted is mapped wrongly", "MCP_CAPABILITY_MISMATCH", []state.Record{call("a", 0, state.CallError, router.CapabilityMismatch, state.NotExecuted, "unknown tool")}, nil, Misfit, "`with`"},
		{"no common version", "MCP_VERSION_UNSUPPORTED", []state.Record{call("a", 0, state.CallError, router.VersionUnsupported, state.NotExecuted, "-32022")}, nil, Version, "update"},
		{"a tool that refuses nearly everybody has no quota left", "tool_error", []state.Record{quota}, quotas, Quota, "quota"},
		{"a tool that refuses this one call was asked the wrong thing", "tool_error", []state.Record{quota}, minutes("a", "", [2]int{90, 0}), Refused, "what it names"},
		{"retries that would make it worse", "budget", []state.Record{down, refusal("no retry is left", nil)}, nil, Budget, "history --since"},
		{"everybody at the declared concurrency", "saturated", []state.Record{refusal("all at their concurrency", nil)}, nil, Saturation, "max_concurrent"},
		{"a session that is not known any more", "MCP_SESSION_EXPIRED", []state.Record{call("a", 0, state.CallError, router.SessionExpired, state.NotExecuted, "404")}, nil, Session, "restarted"},
		{"nobody fits", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "need"}}})}, nil, NoCandidate, "declare one"},
		{"who would fit is unreachable", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "unreachable"}, {Server: "b", Reason: "need"}}})}, nil, Down, "(a)"},
		{"who would fit refuses our credential", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "unreachable", Detail: "MCP_AUTH_REQUIRED: 401"}}})}, nil, Auth, "(a)"},
		{"who would fit does not answer", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "unreachable", Detail: "MCP_TIMEOUT: 30s"}}})}, nil, Hangs, "(a)"},
		{"who would fit is ill in different ways", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "unreachable", Detail: "MCP_TIMEOUT: 30s"}, {Server: "b", Reason: "unreachable", Detail: "MCP_AUTH_MISMATCH: 403"}}})}, nil, Down, "(a, b)"},
		{"who would fit asked to be left alone", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "resting"}}})}, nil, Overloaded, "(a)"},
		{"who would fit is held back", "no_candidate", []state.Record{rejected(router.Decision{Rejected: []router.Rejection{{Server: "a", Reason: "held_back"}}})}, nil, HeldBack, "approve"},
		{"nobody is known since discovery is away", "no_candidate", []state.Record{rejected(router.Decision{Stale: true})}, nil, StaleDiscovery, "Consul"},
		{"one key for two things", "MCP_IDEMPOTENCY_CONFLICT", []state.Record{call("a", 0, state.CallError, router.IdempotencyConflict, state.NotExecuted, "409")}, nil, Conflict, "same call"},
		{"a node of our own", "error", nil, nil, "error", "the node itself failed: it failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := Evidence{
				Thread:  state.Thread{ID: "t-1", Status: state.StatusFailed, Failure: failure(c.code), Created: noon.Add(-time.Hour), Updated: noon.Add(time.Second)},
				Records: c.records, Samples: c.samples, Now: noon.Add(time.Minute),
			}
			got := Find(e)
			if got.Kind != c.want || !strings.Contains(got.Likely+" "+got.Try, c.says) {
				t.Errorf("%s: %s, try %s; want %s with %q", got.Kind, got.Likely, got.Try, c.want, c.says)
			}
			if known, ok := kinds[got.Kind]; strings.Contains(got.Try, "resume t-1") == (ok && known.anew) {
				t.Errorf("try: %s", got.Try)
			}
		})
	}
}

func TestClocksThatDifferAreTheCauseOfASessionThatExpires(t *testing.T) {
	t.Parallel()
	r := call("a", 0, state.CallError, router.SessionExpired, state.NotExecuted, "404")
	for name, th := range map[string]state.Thread{
		"the worker's is behind": {Created: noon.Add(3 * time.Minute), Updated: noon.Add(3 * time.Minute)},
		"the worker's is ahead":  {Created: noon.Add(-time.Hour), Updated: noon.Add(-3 * time.Minute)},
	} {
		th.ID, th.Status, th.Failure = "t", state.StatusFailed, failure("MCP_SESSION_EXPIRED")
		if got := Find(Evidence{Thread: th, Records: []state.Record{r}, Now: noon}); got.Kind != Skew || !strings.Contains(got.Likely, "3m0s") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAServersTenMinutesAreThoseBeforeTheCall(t *testing.T) {
	t.Parallel()
	samples := minutes("a", router.Timeout, [2]int{100, 0}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7},
		[2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}, [2]int{7, 7}) // twelve: the first is over ten minutes old
	samples[3].Ejected, samples[4].Probe = true, "no answer"
	later := samples[11]
	later.Minute, later.Calls = later.Minute.Add(time.Minute), 1000
	r := call("a", 0, state.CallTimeout, router.Timeout, state.Unknown, "")
	e := Evidence{Thread: state.Thread{ID: "t", Status: state.StatusFailed, Failure: failure("MCP_TIMEOUT")}, Records: []state.Record{r}, Samples: append(samples, later)}
	f := Find(e).Before
	if f == nil || f.Calls != 77 || f.Failures != 77 || f.Minutes != 11 || f.Ejected != 1 || f.From != "history" {
		t.Fatalf("before: %+v", f)
	}
	want := "77 calls, 77 failed (MCP_TIMEOUT 77), P95 300ms, score down to 0.00, left alone in 1 of 11 minutes, last probe: no answer"
	if f.String() != want {
		t.Errorf("said: %s\nwant: %s", f, want)
	}
}

func TestOtherServersOfThatTimeStandBeside(t *testing.T) {
	t.Parallel()
	e := Evidence{
		Thread:  state.Thread{ID: "t", Status: state.StatusFailed, Failure: failure("MCP_TIMEOUT")},
		Records: []state.Record{answered("b", time.Minute), answered("old", time.Hour), call("a", 0, state.CallTimeout, router.Timeout, state.Unknown, "")},
	}
	c := Find(e)
	if len(c.Others) != 1 || c.Others[0].Server != "b" || c.Others[0].Answers() != 1 || c.Before.Server != "a" || c.Before.From != "thread" {
		t.Errorf("before %+v, others %+v", c.Before, c.Others)
	}
}

func TestADeadlineBeforeAnyCallIsNoCancel(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Kind{"--timeout 250ms is over": Deadline, "stopped by SIGINT": Stopped} {
		th := state.Thread{ID: "t", Status: state.StatusCancelled, Failure: &state.Failure{Code: "cancelled", Message: message}}
		if got := Find(Evidence{Thread: th}); got.Kind != want {
			t.Errorf("%s: %s", message, got.Kind)
		}
	}
}

func TestARunThatDidNotFailHasNoCause(t *testing.T) {
	t.Parallel()
	if c := Find(Evidence{Thread: state.Thread{Status: state.StatusCompleted}}); c != nil {
		t.Errorf("cause: %+v", c)
	}
}
