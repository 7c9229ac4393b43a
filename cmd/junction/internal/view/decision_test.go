package view

import (
	"bytes"
	"strings"
	"testing"

	"junction/cmd/junction/internal/cause"
	"junction/router"
	"junction/state"
)

func TestADecisionShowsTheServersThatMatterToIt(t *testing.T) {
	stranger := router.Rejection{Server: "press", Reason: "capability", Detail: "it offers publish"}
	other := router.Rejection{Server: "pylint", Reason: "need", Detail: "needs language go; it has python"}
	candidates := []router.Candidate{{Server: "lint", Weight: 1}}
	for _, c := range []struct {
		name         string
		decision     router.Decision
		want, absent string
	}{
		{"something was picked: what offers something else is counted", router.Decision{Picked: "lint", Candidates: candidates, Rejected: []router.Rejection{stranger, stranger, other}}, "and 2 servers without this capability", "press"},
		{"something was picked: what nearly fitted is listed", router.Decision{Picked: "lint", Candidates: candidates, Rejected: []router.Rejection{stranger, other}}, "needs language go; it has python", "press"},
		{"nothing was picked: what offers something else is listed, too", router.Decision{Rejected: []router.Rejection{stranger}}, "it offers publish", "without this capability"},
		{"so many servers that only reasons were kept", router.Decision{Reasons: map[string]int{"need": 20, "capability": 40}}, "rejected: 40 for capability, 20 for need", "without this capability"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Decision(&out, c.decision, Style{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), c.want) || strings.Contains(out.String(), c.absent) {
				t.Errorf("want %q and not %q in:\n%s", c.want, c.absent, out.String())
			}
		})
	}
}

func TestAFailuresNodeIsSaidOnce(t *testing.T) {
	for _, c := range []struct{ name, node, message, want string }{
		{"its node and superstep stand before it", "diff", `node "diff" (superstep 12): no server`, "no server"},
		{"a task of several keeps its number", "diff", `node "diff", task 3 (superstep 1): no server`, `node "diff", task 3 (superstep 1): no server`},
		{"another node", "lint", `node "diff" (superstep 1): no server`, `node "diff" (superstep 1): no server`},
		{"no node", "", "no server", "no server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := reason(c.node, c.message); got != c.want {
				t.Errorf("reason(%q, %q) = %q, want %q", c.node, c.message, got, c.want)
			}
		})
	}
}

func TestAListedFailureBeginsWithItsCause(t *testing.T) {
	f := state.Failure{Code: "no_candidate", Node: "diff", Message: `node "diff" (superstep 1): no server for "diff": none is known`}
	var out bytes.Buffer
	if err := Threads(&out, []Thread{{Thread: state.Thread{ID: "t", Status: state.StatusFailed, Failure: &f}}}, Style{}); err != nil {
		t.Fatal(err)
	}
	if want := `node diff: no_candidate: no server for "diff": none is known`; !strings.Contains(out.String(), want) {
		t.Errorf("%q is missing in:\n%s", want, out.String())
	}
}

func TestAThreadThatNobodyHasTakenUpSaysWhatItWaitsFor(t *testing.T) {
	for _, c := range []struct {
		status state.Status
		want   bool
	}{{state.StatusPending, true}, {state.StatusRunning, false}} {
		e, err := Explain(cause.Evidence{Thread: state.Thread{ID: "t", Status: c.status}}, "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := e.Print(&out, 0, Style{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "waits for a worker"); got != c.want {
			t.Errorf("%s: it waits for a worker: %t, want %t:\n%s", c.status, got, c.want, out.String())
		}
	}
}

func TestAToolsOwnErrorIsNoSuccessInAnExplanation(t *testing.T) {
	records := []state.Record{{Hop: "h", Node: "diff", Round: 1, Attempt: 1, Server: "git", Tool: "diff", Status: state.CallSuccess, IsError: true}}
	e, err := Explain(cause.Evidence{Thread: state.Thread{ID: "t", Status: state.StatusFailed, Failure: &state.Failure{Code: "tool_error", Message: "no such repository", Node: "diff"}}, Records: records}, "")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := e.Print(&out, 0, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"last failing call: diff at git, tool error, attempt 1", "that server in this thread: 1 call, 1 failed", "attempt 1 at git: tool error"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out.String(), "success") {
		t.Errorf("it is called a success:\n%s", out.String())
	}
}
