package view

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/cmd/junction/internal/cause"
	"junction/graph"
	"junction/router"
	"junction/state"
)

func TestCleanKeepsTextAndDropsWhatMovesATerminal(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"escape sequence", "\x1b[2Jgone", "[2Jgone"},
		{"carriage return", "ok\rnot ok", "oknot ok"},
		{"C1 control", "a\u009bb", "ab"},
		{"direction override", "a\u202eb", "ab"},
		{"other scripts", "größe 大小", "größe 大小"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

// twoAttempts is a hop that failed at one server and succeeded at another,
// after one that was recorded before it but began later.
func twoAttempts() []state.Record {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	decision := json.RawMessage(`{"policy":"weighted-random","transform":"plain","seed":7,"draw":0.5,"picked":"b","candidates":[{"server":"b","tool":"lint","match":1,"health":0.9,"terms":{"success":1},"weight":0.9}],"rejected":[{"server":"a","reason":"tried","detail":"failed before"}]}`)
	return []state.Record{
		{Hop: "a-later", Node: "publish", Round: 1, Attempt: 1, Server: "c", Tool: "publish", Status: state.CallSuccess, Started: begin.Add(time.Second), Duration: time.Millisecond},
		{Hop: "b-first", Node: "review", Round: 1, Attempt: 2, Server: "b", Tool: "lint", Capability: "code-review", Effect: state.Safe, Status: state.CallSuccess, Started: begin.Add(10 * time.Millisecond), Duration: 20 * time.Millisecond, Decision: decision},
		{Hop: "b-first", Node: "review", Round: 1, Attempt: 1, Server: "a", Tool: "lint", Capability: "code-review", Effect: state.Safe, Status: state.CallError, Code: string(router.Transport), Message: "reset\x1b[31m by peer", Started: begin, Duration: 10 * time.Millisecond},
	}
}

func TestHopsAreInTheOrderTheyBeganWithAllAttempts(t *testing.T) {
	hops := NewHops(twoAttempts())
	if len(hops) != 2 || hops[0].Node != "review" || hops[1].Node != "publish" {
		t.Fatalf("hops = %+v", hops)
	}
	h := hops[0]
	if h.Server != "b" || h.Status != state.CallSuccess || h.Code != "" || h.DurationMS != 30 {
		t.Errorf("the hop's own fields are its last attempt's: %+v", h)
	}
	if len(h.Attempts) != 2 || h.Attempts[0].Server != "a" || h.Attempts[0].Code != string(router.Transport) || h.Attempts[0].Message != "reset[31m by peer" {
		t.Errorf("attempts = %+v", h.Attempts)
	}
}

func TestAnOutcomeHasEveryFieldOfTheContract(t *testing.T) {
	o := NewOutcome(graph.Result{Thread: "t", Status: state.StatusCompleted, State: map[string]any{"n": int64(1) << 60}}, twoAttempts())
	var out bytes.Buffer
	if err := JSON(&out, o); err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"thread", "status", "state", "interrupts", "error", "hops"} {
		if _, ok := doc[field]; !ok {
			t.Errorf("field %q is missing", field)
		}
	}
	if string(doc["interrupts"]) != "[]" {
		t.Errorf("interrupts = %s, want an empty list", doc["interrupts"])
	}
	if !strings.Contains(string(doc["state"]), "1152921504606846976") {
		t.Errorf("a large integer was changed: %s", doc["state"])
	}
}

func TestExplainNamesTheLastFailingCallAndWhatToTry(t *testing.T) {
	records := twoAttempts()
	th := state.Thread{ID: "t1", Workflow: "w", Status: state.StatusFailed, Failure: &state.Failure{Code: string(router.Transport), Message: "it broke", Node: "review"}}
	e, err := Explain(cause.Evidence{Thread: th, Records: records}, "review")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Hops) != 1 || len(e.Hops[0].Decisions) != 1 || e.Hops[0].Decisions[0].Picked != "b" {
		t.Fatalf("hops = %+v", e.Hops)
	}
	var out bytes.Buffer
	if err := e.Print(&out, 0, Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"failed: node review: MCP_TRANSPORT", "last failing call: lint at a", "that server in this thread: 1 call, 1 failed", "junction resume t1", "picked b", "rejected", "failed before", "weight 0.900"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestSummarySaysHowToAnswerAndGoOn(t *testing.T) {
	o := Outcome{
		Thread: "t1", Status: state.StatusInterrupted, State: map[string]any{"report": "# Report\n"},
		Interrupts: []Question{{ID: "q1", Node: "gate", Value: json.RawMessage(`{"question":"Publish?","show":[{"path":"a.go","line":3,"message":"bad","severity":"high"},"other"]}`), Schema: json.RawMessage(`{"type":"boolean"}`)}},
		Hops:       NewHops(twoAttempts()),
	}
	var out bytes.Buffer
	if err := Summary(&out, o, Style{Resume: "junction resume t1"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Report", "waiting for an answer: thread t1", "Publish?", "a.go:3 bad (high)", `"other"`, "junction resume t1 --answer true", "SERVER"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestProgressPrintsPlainLinesWhereNoTerminalIs(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, nil)
	p.Event(graph.Event{Kind: graph.EventStep, Thread: "t", Step: 1, Nodes: []string{"review", "secrets"}, Tasks: 3})
	p.Event(graph.Event{Kind: graph.EventTask, Task: "x", Node: "review", Index: 1})
	hop := router.HopInfo{Thread: "t", Node: "review", Task: "x"}
	p.OnAttempt(hop, router.AttemptInfo{Attempt: 1, Server: "a"})
	p.OnOutcome(hop, router.AttemptInfo{Attempt: 1, Server: "a"}, router.OutcomeInfo{Status: state.CallTimeout, Code: router.Timeout, Duration: time.Second})
	p.OnOutcome(hop, router.AttemptInfo{Attempt: 2, Server: "b"}, router.OutcomeInfo{Status: state.CallSuccess, Duration: time.Millisecond})
	p.Event(graph.Event{Kind: graph.EventStep, Thread: "t", Step: 2, Nodes: []string{"gate"}, Tasks: 1})
	want := "thread t\nsuperstep 1: review, secrets (3 tasks)\n  review: attempt 1 at a ended with MCP_TIMEOUT after 1s\nsuperstep 2: gate\n"
	p.Close()
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestWhatIsToldOfATaskAfterItsEndDoesNotBringItBack(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, func() int { return 80 })
	defer p.Close()
	p.Event(graph.Event{Kind: graph.EventStep, Thread: "t", Step: 1, Nodes: []string{"review"}, Tasks: 1})
	p.Event(graph.Event{Kind: graph.EventTask, Task: "x", Node: "review"})
	p.Event(graph.Event{Kind: graph.EventTaskDone, Task: "x", Node: "review"})
	p.OnProgress(router.HopInfo{Task: "x", Node: "review"}, router.AttemptInfo{Server: "a"}, router.Progress{Progress: 1})
	p.OnGap(3)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.running) > 0 || !strings.Contains(out.String(), "3 events of calls are not shown") {
		t.Errorf("running %v, printed %q", p.running, out.String())
	}
}

func TestTheLiveLineStaysOnOneRowOfTheTerminal(t *testing.T) {
	for _, c := range []struct {
		name, in string
		columns  int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"too long", "abcd", 3, "ab…"},
		{"wide characters", "大小大", 5, "大小…"},
		{"wide characters that fit", "大小", 4, "大小"},
		{"no room", "abc", 1, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fit(c.in, c.columns); got != c.want {
				t.Errorf("fit(%q, %d) = %q, want %q", c.in, c.columns, got, c.want)
			}
		})
	}
}

func TestTheLiveLineFollowsTheTerminalsWidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		width := 40
		p := NewProgress(&out, func() int { return width })
		p.Event(graph.Event{Kind: graph.EventStep, Step: 1, Tasks: 1, Nodes: []string{"review"}})
		p.Event(graph.Event{Kind: graph.EventTask, Task: "t", Node: "a-node-whose-name-is-longer-than-most-are"})
		drawn := func() string { // after the next redraw, by the bubble's clock
			<-time.After(redraw)
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			defer out.Reset()
			return out.String()
		}
		if got := drawn(); len([]rune(got)) > 39 || !strings.HasSuffix(got, "…") {
			t.Errorf("40 columns: %q", got)
		}
		p.mu.Lock()
		width = 120
		p.mu.Unlock()
		if got := drawn(); !strings.HasSuffix(got, "most-are") {
			t.Errorf("120 columns: %q", got)
		}
		p.Close()
	})
}

func TestAQuestionShowsWhatAnAnswerLooksLike(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         []string
	}{
		{"none", ``, []string{"JSON"}},
		{"boolean", `{"type":"boolean"}`, []string{"true"}},
		{"number", `{"type":"integer"}`, []string{"NUMBER"}},
		{"text", `{"type":"string"}`, []string{"TEXT"}},
		{"choices", `{"enum":["red","light green","1",2]}`, []string{"red", "'light green'", `'"1"'`, "2"}},
		{"choices held to a channel", `{"allOf":[{"enum":["red"]},{"type":"string"}]}`, []string{"red"}},
		{"object", `{"type":"object","required":["x","y"],"properties":{"x":{"type":"number"},"y":{}}}`, []string{`'{"x":NUMBER,"y":JSON}'`}},
		{
			"choice with its consequence",
			`{"type":"object","required":["choice"],"properties":{"choice":{"enum":["happened","abandon"]},"result":{}},"if":{"properties":{"choice":{"const":"happened"}}},"then":{"required":["result"]}}`,
			[]string{`'{"choice":"happened","result":JSON}'`, `'{"choice":"abandon"}'`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := answers(json.RawMessage(c.schema)); !slices.Equal(got, c.want) {
				t.Errorf("answers = %q, want %q", got, c.want)
			}
		})
	}
}

func TestQuestionsDoNotWidenTheTableOfThreads(t *testing.T) {
	threads := []Thread{{
		Thread:    state.Thread{ID: "t", Workflow: "w", Status: state.StatusInterrupted},
		Questions: []Question{{ID: "q", Node: "gate", Value: json.RawMessage(`{"question":"` + strings.Repeat("long ", 30) + `"}`)}},
	}}
	var out bytes.Buffer
	if err := Threads(&out, threads, Style{}); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(out.String(), "\n")
	if len(head) > 60 {
		t.Errorf("the head is %d wide: %q", len(head), head)
	}
	if !strings.Contains(out.String(), "  ? q  gate: long") {
		t.Errorf("the question is missing:\n%s", out.String())
	}
}

func TestALongExplanationShowsWhatWentWrongFirst(t *testing.T) {
	hop := func(id string, status state.CallStatus) ExplainedHop {
		return ExplainedHop{Hop: Hop{ID: id, Status: status}}
	}
	hops := []ExplainedHop{hop("a", state.CallSuccess), hop("b", state.CallSuccess), hop("c", state.CallError), hop("d", state.CallSuccess), hop("e", state.CallTimeout)}
	for _, c := range []struct {
		most, left int
		want       string
	}{{0, 0, "abcde"}, {5, 0, "abcde"}, {3, 2, "ace"}, {1, 4, "c"}} {
		shown, left := first(hops, c.most)
		got := ""
		for _, h := range shown {
			got += h.ID
		}
		if got != c.want || left != c.left {
			t.Errorf("at most %d: %s and %d more, want %s and %d", c.most, got, left, c.want, c.left)
		}
	}
}

func TestACallThatWasCutOffIsNoFailureOfItsServer(t *testing.T) {
	records := twoAttempts()
	load := func() string {
		var out bytes.Buffer
		if err := Summary(&out, Outcome{Status: state.StatusCancelled, Hops: NewHops(records)}, Style{}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := load(); !strings.HasPrefix(got, "SERVER CALLS FAILED MEAN FOR a 1 1 10 ms") {
		t.Errorf("a failed call: %s", got)
	}
	records[2].Status = state.CallCancelled
	if got := load(); !strings.HasPrefix(got, "SERVER CALLS FAILED CUT OFF MEAN FOR a 1 0 1 10 ms") {
		t.Errorf("a call that was cut off: %s", got)
	}
}

func TestACutCallThatMayHaveTakenEffectIsNamed(t *testing.T) {
	hop := func(effect state.Effect) Hop {
		return Hop{Tool: "pay", Effect: effect, Attempts: []Attempt{{Server: "bank", Status: state.CallCancelled, Execution: state.Unknown}}}
	}
	for effect, want := range map[state.Effect]bool{state.Unsafe: true, state.Conditional: true, state.Safe: false} {
		var out bytes.Buffer
		if err := Summary(&out, Outcome{Status: state.StatusCancelled, Hops: []Hop{hop(effect)}}, Style{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "nobody knows whether pay at bank took effect"); got != want {
			t.Errorf("%s: named %t, want %t:\n%s", effect, got, want, out.String())
		}
	}
}
