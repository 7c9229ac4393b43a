package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
	"junction/state/memory"
)

func codeReview(severity string) *tools {
	return &tools{answer: map[string]func(state.Call) (state.Answer, error){
		"diff": gives(obj{"files": []any{
			obj{"path": "a.go", "language": "go", "after": "package a"},
			obj{"path": "b.js", "language": "javascript", "after": "let b"},
		}}),
		"code-review": func(c state.Call) (state.Answer, error) {
			path := c.With.(obj)["context"].(obj)["path"]
			return state.Answer{Value: obj{"issues": []any{obj{"path": path, "severity": severity}}}}, nil
		},
	}}
}

func TestTheReviewWorkflowRunsAsItsFileSays(t *testing.T) {
	w, err := workflow.Load("testdata/code-review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tl := codeReview("low")
	res, err := compile(t, w, tl).Run(t.Context(), graph.RunOptions{Check: true})
	if err != nil || res.Status != state.StatusCompleted {
		t.Fatalf("%v, status %s: %v", err, res.Status, res.Err)
	}
	want := []any{obj{"path": "a.go", "severity": "low"}, obj{"path": "b.js", "severity": "low"}}
	if d := cmp.Diff(want, res.State["findings"]); d != "" {
		t.Error(d)
	}
	if _, written := res.State["approved"]; written {
		t.Error("a node whose when is false wrote")
	}
	calls := tl.made()
	if len(calls) != 3 {
		t.Fatalf("%d hops", len(calls))
	}
	if d := cmp.Diff(state.Call{Capability: "diff", With: obj{"repo": "."}}, calls[0]); d != "" {
		t.Error(d)
	}
	for _, c := range calls[1:] {
		if c.With.(obj)["language"] != c.Need["language"] {
			t.Errorf("need %v with arguments %v", c.Need, c.With)
		}
		c.With, c.Need = nil, nil
		want := state.Call{Capability: "code-review", Prefer: obj{"review_depth": "security-focused"}, Idle: 10 * time.Second, Max: time.Minute, Attempts: 4}
		if d := cmp.Diff(want, c); d != "" {
			t.Error(d)
		}
	}
}

func TestAQuestionWaitsAndTakesOnlyAnAnswerThatFits(t *testing.T) {
	w, err := workflow.Load("testdata/code-review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(nil)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	g := compile(t, w, codeReview("high"))
	res, err := g.Run(t.Context(), graph.RunOptions{Store: store, Thread: "t", Definition: w.Text})
	if err != nil || res.Status != state.StatusInterrupted || len(res.Interrupts) != 1 {
		t.Fatalf("%v, status %s: %v", err, res.Status, res.Err)
	}
	i := res.Interrupts[0]
	if i.Node != "gate" || string(i.Schema) != `{"type":"boolean"}` || !strings.Contains(string(i.Value), `"question":"Serious findings. Publish?"`) ||
		!strings.Contains(string(i.Value), `"show":[{"path":"a.go"`) {
		t.Errorf("the question is %s with schema %s", i.Value, i.Schema)
	}
	var misfit *graph.AnswerError
	if _, err = g.Resume(t.Context(), "t", graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": []byte(`"yes"`)}}); !errors.As(err, &misfit) {
		t.Errorf("an answer of the wrong type: %v", err)
	}
	res, err = g.Resume(t.Context(), "t", graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": []byte(`true`)}})
	if err != nil || res.Status != state.StatusCompleted || res.State["approved"] != true {
		t.Errorf("%v, status %s, state %v", err, res.Status, res.State["approved"])
	}
}

func TestAToolsOwnErrorFailsItsNodeUnlessOnErrorSaysOtherwise(t *testing.T) {
	const file = `
workflow: w
state: {log: {type: array, reduce: append}, done: boolean}
nodes:
  a:
    call: {capability: c}
    write: {done: "${result.ok}"}
    on_error: %s
  b: {write: {log: [b]}}
  repair: {write: {log: [repair]}}
edges:
  - start -> a -> b -> end
  - repair -> end
  - {from: b, when: "${done ?? false}", to: repair}
`
	tl := &tools{answer: map[string]func(state.Call) (state.Answer, error){"c": says(obj{"text": "no\x1b[31m such\nfile"})}}
	cases := []struct {
		name, onError string
		log           []any
	}{
		{"continue", "continue", []any{"b"}},
		{"another node", "repair", []any{"repair"}},
		{"end", "end", []any{}},
		{"write", `{write: {log: ["${error.code} of ${error.server} in ${error.node}"]}}`, []any{"tool_error of srv-1 in a", "b"}},
		{"write and go", `{write: {log: ["${error.message}"]}, goto: repair}`,
			[]any{`capability "c" (tool "t") of server "srv-1" answered with an error: no [31m such file`, "repair"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := completed(t, strings.Replace(file, "%s", c.onError, 1), tl, nil)
			if d := cmp.Diff(c.log, got["log"]); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("nothing said", func(t *testing.T) {
		res := run(t, strings.Replace(file, "    on_error: %s\n", "", 1), tl, nil)
		var te *workflow.ToolError
		if res.Status != state.StatusFailed || !errors.As(res.Err, &te) || state.FailureOf(res.Err).Code != "tool_error" {
			t.Errorf("status %s: %v", res.Status, res.Err)
		}
	})
}

func TestARouteWritesWhereALaterCallGoes(t *testing.T) {
	tl := &tools{answer: map[string]func(state.Call) (state.Answer, error){
		"review": func(c state.Call) (state.Answer, error) {
			if !c.RouteOnly {
				return state.Answer{}, errors.New("called")
			}
			return state.Answer{Server: "srv-7", Endpoint: "http://srv-7/mcp", Session: "s-1", Tool: "check"}, nil
		},
		"srv-7/check": gives(obj{"text": "fine"}),
	}}
	got := completed(t, `
workflow: w
state: {said: string, tool: string, none: string}
nodes:
  choose: {route: {capability: review, need: {language: "${none ?? nil}", depth: deep}}}
  other:  {route: {capability: review}, write: {tool: "${route.tool}"}}
  use:    {call: {server: "${selected_server}", tool: "${tool}", effect: safe, session: thread, name: "n"}, write: {said: "${result.text}"}}
edges: [start -> choose -> other -> use -> end]
`, tl, nil)
	want := obj{"said": "fine", "tool": "check", "selected_server": "srv-7", "selected_server_endpoint": "http://srv-7/mcp", "mcp_session_id": "s-1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	calls := tl.made()
	if d := cmp.Diff(obj{"depth": "deep"}, calls[0].Need); d != "" {
		t.Errorf("a need that is null was asked for: %s", d)
	}
	if calls[0].With != nil {
		t.Errorf("a route has no arguments for a tool's schema to refuse: %v", calls[0].With)
	}
	if d := cmp.Diff(state.Call{Server: "srv-7", Tool: "check", With: obj{}, Effect: state.Safe, Session: "thread", Name: "n"}, calls[2]); d != "" {
		t.Error(d)
	}
}

func TestEdges(t *testing.T) {
	file := func(edges string) string {
		return `
workflow: w
recursion_limit: 20
state: {log: {type: array, reduce: append}, n: {type: integer, reduce: sum, default: 0}, next: any}
nodes:
  a: {write: {log: [a], n: 1}}
  b: {write: {log: [b]}}
  c: {write: {log: [c]}}
  d: {write: {log: [d]}}
edges:
` + edges
	}
	cases := []struct {
		name, edges string
		in          obj
		want        []any
	}{
		{"chain", "- start -> a -> b -> c -> d -> end", nil, []any{"a", "b", "c", "d"}},
		{"fan-out and join", `- "start -> [a, b] -> c -> d -> end"`, nil, []any{"a", "b", "c", "d"}},
		{"join of branches of different length", "- start -> [a, b]\n- a -> c\n- \"[c, b] -> d -> end\"", nil, []any{"a", "b", "c", "d"}},
		{"condition that holds", `- start -> a` + "\n" + `- {from: a, when: "${n == 1}", to: b, else: [c, d]}` + "\n- '[b, c, d] -> end'", nil, []any{"a", "b"}},
		{"else", `- start -> a` + "\n" + `- {from: a, when: "${n > 1}", to: b, else: [c, d]}` + "\n- '[b, c, d] -> end'", nil, []any{"a", "c", "d"}},
		{"condition without else", `- start -> a` + "\n" + `- {from: a, when: "${n > 1}", to: b}` + "\n- b -> c -> d -> end", nil, []any{"a"}},
		{"the first that holds", "- start -> a\n- from: a\n  choose:\n  - {when: '${n > 1}', to: b}\n  - {when: '${n > 0}', to: c}\n  - {when: '${true}', to: d}\n  else: end\n- {from: [b, c, d], to: end}",
			nil, []any{"a", "c"}},
		{"loop", `- start -> a` + "\n" + `- {from: a, when: "${n < 3}", to: a, else: b}` + "\n- b -> c -> d -> end", nil, []any{"a", "a", "a", "b", "c", "d"}},
		{"goto a name", `- start -> a` + "\n" + `- {from: a, goto: "${next}", to: [b, c, end]}` + "\n- b -> d -> end\n- c -> end", obj{"next": "b"}, []any{"a", "b", "d"}},
		{"goto several", `- start -> a` + "\n" + `- {from: a, goto: "${next}", to: [b, c]}` + "\n- b -> d -> end\n- c -> end", obj{"next": []any{"c", "b", "c"}}, []any{"a", "b", "c", "d"}},
		{"conditional entry", `- {from: start, when: "${next == nil}", to: a, else: b}` + "\n- a -> c -> d -> end\n- b -> end", nil, []any{"a", "c", "d"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := completed(t, file(c.edges), nil, c.in)
			if d := cmp.Diff(c.want, got["log"]); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("goto elsewhere", func(t *testing.T) {
		res := run(t, file(`- start -> a`+"\n"+`- {from: a, goto: "${next}", to: [b, c, d]}`+"\n- '[b, c, d] -> end'"), nil, obj{"next": "q"})
		if res.Status != state.StatusFailed || !strings.Contains(res.Err.Error(), `w.yaml:12:19: edges[1].goto: goto gave "q"; it may name b, c, d`) {
			t.Errorf("status %s: %v", res.Status, res.Err)
		}
	})
	t.Run("endless loop", func(t *testing.T) {
		res := run(t, file("- start -> a -> a\n- a -> b -> c -> d -> end"), nil, nil)
		var re *graph.RecursionError
		if res.Status != state.StatusFailed || !errors.As(res.Err, &re) || re.Limit != 20 {
			t.Errorf("status %s: %v", res.Status, res.Err)
		}
	})
}

func TestEachBindsItemAndIndexAndWhenSkipsSingleItems(t *testing.T) {
	got := completed(t, `
workflow: w
state:
  names: array
  log: {type: array, reduce: append, default: [old]}
  sum: {type: number, reduce: sum}
nodes:
  a:
    each: "${names}"
    when: "${item != 'skip'}"
    write: {log: ["${index}:${item}"], sum: "${len(item)}"}
  b: {replace: {log: "${filter(log, # != 'old')}"}}
edges: [start -> a -> b -> end]
`, nil, obj{"names": []any{"x", "skip", "${1 + 1}"}})
	if d := cmp.Diff([]any{"0:x", "2:${1 + 1}"}, got["log"]); d != "" {
		t.Error(d)
	}
	if got["sum"] != int64(9) {
		t.Errorf("sum %v", got["sum"])
	}
}

func TestAResumeRunsOnlyTheItemsThatHadNotFinished(t *testing.T) {
	broken := true
	tl := &tools{answer: map[string]func(state.Call) (state.Answer, error){"c": func(c state.Call) (state.Answer, error) {
		item := c.With.(obj)["item"]
		if item == "b" && broken {
			return state.Answer{}, errors.New("down")
		}
		return state.Answer{Value: obj{"seen": []any{item}}}, nil
	}}}
	w := parse(t, `
workflow: w
state: {names: array, log: {reduce: append}}
nodes:
  a: {each: "${names}", call: {capability: c, with: {item: "${item}"}}, write: {log: "${result.seen}"}}
edges: [start -> a -> end]
`)
	store := memory.New(nil)
	defer store.Close()
	g := compile(t, w, tl)
	in := obj{"names": []any{"a", "b", "c"}}
	// One at a time, in order: the first has finished when the second fails.
	res, err := g.Run(t.Context(), graph.RunOptions{Store: store, Thread: "t", Definition: w.Text, Input: in, MaxParallel: 1})
	if err != nil || res.Status != state.StatusFailed || state.FailureOf(res.Err).Node != "a" {
		t.Fatalf("%v, status %s: %v", err, res.Status, res.Err)
	}
	before := len(tl.made())
	broken = false
	res, err = g.Resume(t.Context(), "t", graph.RunOptions{Store: store})
	if err != nil || res.Status != state.StatusCompleted {
		t.Fatalf("%v, status %s: %v", err, res.Status, res.Err)
	}
	if d := cmp.Diff([]any{"a", "b", "c"}, res.State["log"]); d != "" {
		t.Error(d)
	}
	for _, c := range tl.made()[before:] {
		if c.With.(obj)["item"] == "a" {
			t.Error("an item that had finished was run again")
		}
	}
}

func TestAFailedExpressionNamesItsPlaceInTheFile(t *testing.T) {
	tl := &tools{answer: map[string]func(state.Call) (state.Answer, error){"c": gives(obj{"items": []any{int64(1)}, "n": 1.5})}}
	cases := []struct{ name, node, want string }{
		{"missing key", `{call: {capability: c}, write: {list: "${result.itmes}"}}`,
			`w.yaml:5:56: nodes.a.write.list: in ${result.itmes}: result has no key "itmes" (did you mean "items"?`},
		{"value that does not fit", `{call: {capability: c}, write: {text: "${result.items}"}}`,
			`w.yaml:5:46: nodes.a.write.text: channel "text" holds values of type string, not array`},
		{"fraction for an integer", `{call: {capability: c}, write: {whole: "${result.n}"}}`, `channel "whole" holds values of type integer, not fraction`},
		{"item for a log", `{call: {capability: c}, write: {log: "${result.n}"}}`, `channel "log" is a log and takes a list of items to add, not a value of type number`},
		{"null for a log", `{write: {log: "${free}"}}`, `channel "log" is reduced with append and takes no null`},
		{"deep in arguments", `{call: {capability: c, with: {a: [{b: "x ${free.y}"}]}}}`, `w.yaml:5:56: nodes.a.call.with.a[0].b: in ${free.y}: free is null and has no members`},
		{"condition", `{when: "${free}", write: {text: x}}`, `w.yaml:5:15: nodes.a.when: the condition must be true or false, not a value of type null`},
		{"each", `{each: "${free}", write: {text: x}}`, `w.yaml:5:15: nodes.a.each: each needs a list, not a value of type null`},
		{"empty capability", `{call: {capability: "${free ?? ''}"}}`, `text that is not empty is needed here, not a value of type string`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := run(t, "workflow: w\nstate: {list: array, text: string, whole: integer, log: {reduce: append}, free: any}\nedges: [start -> first -> a -> end]\nnodes:\n    a: "+c.node+"\n    first: {write: {text: y}}\n", tl, nil)
			if res.Status != state.StatusFailed || !strings.Contains(res.Err.Error(), c.want) {
				t.Errorf("status %s: %v\nwant an error with %s", res.Status, res.Err, c.want)
			}
			if code := state.FailureOf(res.Err).Code; code != "expression" {
				t.Errorf("code %q", code)
			}
		})
	}
}

func TestPauseRetryAndTimeoutReachTheGraph(t *testing.T) {
	s := parse(t, `
workflow: w
state: {x: any}
nodes:
  a: {write: {x: 1}, pause: before, retry: {attempts: 2, delay: 1s, cap: 4s}, timeout: 30s}
  b: {write: {x: 1}, pause: after}
edges: [start -> a -> b -> end]
`).Spec(nil)
	a, b := s.Nodes[0], s.Nodes[1]
	if !a.PauseBefore || a.PauseAfter || b.PauseBefore || !b.PauseAfter || a.Timeout != 30*time.Second {
		t.Errorf("a %+v, b %+v", a, b)
	}
	if d := cmp.Diff(&graph.Retry{Attempts: 2, Delay: time.Second, Cap: 4 * time.Second}, a.Retry); d != "" || b.Retry != nil {
		t.Error(d)
	}
}

func TestAnswersAreHeldToTheirSchema(t *testing.T) {
	for _, c := range []struct{ name, ask, write, want string }{
		{"type", "{question: q, answer: integer}", "", `{"type":"integer"}`},
		{"anything", "{question: q, answer: any}", `, write: {flag: "${answer.x}"}`, ``},
		{"list of answers", "{question: q, answer: [publish, 'no', 3]}", "", `{"enum":["publish","no",3]}`},
		{"schema", "{question: q, answer: {type: object, required: [why]}}", "", `{"required":["why"],"type":"object"}`},
		{"of the channel", "{question: q}", `, write: {flag: "${answer}"}`, `{"type":"boolean"}`},
		{"answers and the channel", "{question: q, answer: [true, false]}", `, write: {flag: "${answer}"}`, `{"allOf":[{"enum":[true,false]},{"type":"boolean"}]}`},
		{"type and the channel", "{question: q, answer: boolean}", `, write: {flag: "${ answer }"}`, `{"type":"boolean"}`},
		{"of a part of it", "{question: q}", `, write: {flag: "${answer.ok}"}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := parse(t, "workflow: w\nstate: {flag: boolean}\nnodes:\n  a: {ask: "+c.ask+c.write+"}\nedges: [start -> a -> end]\n")
			store := memory.New(nil)
			defer store.Close()
			res, err := compile(t, w, nil).Run(t.Context(), graph.RunOptions{Store: store})
			if err != nil || len(res.Interrupts) != 1 || string(res.Interrupts[0].Schema) != c.want {
				t.Errorf("%v, interrupts %+v", err, res.Interrupts)
			}
		})
	}
}
