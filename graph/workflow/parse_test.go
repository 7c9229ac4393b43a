package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/graph/workflow"
	"junction/state"
	"junction/state/document"
)

func TestEveryFaultOfAFileIsReportedAtOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = workflow.Parse("faults.yaml", data)
	if err == nil {
		t.Fatal("no fault was found")
	}
	if d := cmp.Diff(string(want), err.Error()+"\n"); d != "" {
		t.Error(d)
	}
}

// file puts parts of a workflow around what a case is about.
func file(state, nodes, edges string) string {
	return "workflow: w\nstate: {" + state + "}\nnodes:\n" + nodes + "\nedges:\n" + edges + "\n"
}

func TestFaults(t *testing.T) {
	const edge = "- start -> a -> end"
	cases := []struct{ name, text, want string }{
		{"not YAML", "workflow: [", "2:1: not YAML"},
		{"not a mapping", "- a", "1:1: a mapping is expected here, not a list"},
		{"empty file", "", "1:1: a mapping is expected here, not nothing"},
		{"missing parts", "description: x", `the key "workflow" is missing`},
		{"missing nodes", "workflow: w\nedges: []", `1:1: the key "nodes" is missing`},
		{"no nodes", "workflow: w\nnodes: {}\nedges: []", "2:8: a workflow needs at least one node"},
		{"unknown key", "workflow: w\nnode: {}\n", `2:1: unknown key "node" (did you mean "nodes"?)`},
		{"channel's name", file("result: string", "  a: {write: {}}", edge), `the name "result" has a meaning of its own`},
		{"channel's odd name", file("'my-x': string", "  a: {write: {}}", edge), `"my-x" cannot be the name of a channel`},
		{"channel's type", file("x: strng", "  a: {write: {}}", edge), `2:12: "strng" is none of string, number, integer, boolean, array, object, any (did you mean "string"?)`},
		{"default that does not fit", file("x: {type: integer, default: 1.5}", "  a: {write: {}}", edge), `2:37: the default does not fit: channel "x" holds values of type integer, not fraction`},
		{"reducer that does not fit", file("x: {type: string, reduce: append}", "  a: {write: {}}", edge), "reduce: append folds values of type array; the channel holds string"},
		{"node's name", file("", "  end: {write: {}}\n  a: {write: {}}", edge), `4:3: "end" is the border of every graph`},
		{"node's odd name", file("", "  'a>b': {write: {}}\n  a: {write: {}}", edge), `"a>b" cannot be the name of a node`},
		{"node twice", file("", "  a: {write: {}}\n  a: {write: {}}", edge), `5:3: the key "a" stands here twice; first in line 4`},
		{"node that does nothing", file("", "  a: {when: '${true}'}", edge), `4:6: node "a" does nothing (add call, route, ask or write)`},
		{"node that does two things", file("", "  a: {call: {capability: c}, ask: {question: q}}", edge), "a node does one thing: it has call and ask"},
		{"nothing selected", file("", "  a: {call: {with: {}}}", edge), "4:13: nothing says which server is wanted"},
		{"tool without server", file("", "  a: {call: {tool: t}}", edge), "4:20: a tool is called directly and needs its server"},
		{"tool and capability", file("", "  a: {call: {server: s, tool: t, capability: c}}", edge), "give capability or tool, not both"},
		{"server alone", file("", "  a: {call: {server: s}}", edge), "nothing says what to call on the server"},
		{"need of a direct call", file("", "  a: {call: {server: s, tool: t, need: {}}}", edge), "need has no meaning in a direct call"},
		{"effect of a capability", file("", "  a: {call: {capability: c, effect: safe}}", edge), "the effect of a capability is not the workflow's to say (declare it with the offer"},
		{"with of a route", file("", "  a: {route: {capability: c, with: {}}}", edge), `unknown key "with"`},
		{"idle above max", file("", "  a: {call: {capability: c, timeout: {idle: 2m, max: 1m}}}", edge), "the idle timeout is longer than the maximum"},
		{"timeout without unit", file("", "  a: {call: {capability: c, timeout: 10}}", edge), "such as 250ms, 10s or 5m"},
		{"attempts", file("", "  a: {call: {capability: c, retry: {attempts: 0}}}", edge), "a whole number from 1 to 100 is expected here, not 0"},
		{"unknown name", file("repo: string", "  a: {call: {capability: c, with: {r: 'in ${rpo}'}}}", edge), `4:45: unknown name "rpo" (did you mean "repo"?)`},
		{"result before the call", file("x: any", "  a: {when: '${result.ok}', call: {capability: c}}", edge), `unknown name "result"`},
		{"item without each", file("x: any", "  a: {write: {x: '${item}'}}", edge), `unknown name "item"`},
		{"unknown function", file("x: any", "  a: {write: {x: '${cuont(x)}'}}", edge), `4:21: unknown function "cuont" (did you mean "count"?)`},
		{"expression without an end", file("x: any", "  a: {write: {x: 'a ${x'}}", edge), "4:21: the ${ has no }"},
		{"unknown channel", file("files: array", "  a: {write: {flies: 1}}", edge), `4:15: there is no channel "flies" in the state (did you mean "files"?)`},
		{"constant of the wrong type", file("x: boolean", "  a: {write: {x: 'yes'}}", edge), `4:18: channel "x" holds values of type boolean, not string`},
		{"expression of the wrong type", file("x: boolean, n: number", "  a: {write: {x: '${n + 1}'}}", edge), `4:18: channel "x" holds values of type boolean, not number`},
		{"text around an expression", file("x: array", "  a: {write: {x: ' ${x}'}}", edge), "only a text that is exactly one ${…} has another type than string"},
		{"item for a log", file("x: {reduce: append}, s: string", "  a: {write: {x: '${s}'}}", edge), `channel "x" is a log and takes a list of items to add, not a value of type string (put it in a list: [ … ])`},
		{"condition of the wrong type", file("n: number", "  a: {when: '${n}', write: {}}", edge), "4:13: a value of type boolean is expected here, not number"},
		{"condition that is text", file("n: number", "  a: {when: 'n > 1', write: {}}", edge), "only a text that is exactly one ${…}"},
		{"each of the wrong type", file("n: number", "  a: {each: '${n}', write: {}}", edge), "a value of type array is expected here, not number"},
		{"types within an expression", file("n: number", "  a: {when: '${n.x == 1}', write: {}}", edge), "4:18: n is a number and has no members"},
		{"with that is no object", file("n: number", "  a: {call: {capability: c, with: '${n}'}}", edge), "a value of type object is expected here, not number"},
		{"replace without a reducer", file("n: number", "  a: {replace: {n: 1}}", edge), `channel "n" has no reducer`},
		{"question missing", file("", "  a: {ask: {show: x}}", edge), `the key "question" is missing`},
		{"answer of an unknown type", file("", "  a: {ask: {question: q, answer: bool}}", edge), `did you mean "boolean"?`},
		{"answer schema", file("", "  a: {ask: {question: q, answer: {type: 5}}}", edge), "this is no JSON Schema"},
		{"answer schema from elsewhere", file("", "  a: {ask: {question: q, answer: {$ref: 'http://x/y.json'}}}", edge), "must not refer to another document"},
		{"answer that cannot fit", file("x: boolean", "  a: {ask: {question: q, answer: string}, write: {x: '${answer}'}}", edge), `channel "x" holds values of type boolean, not string`},
		{"one of the answers cannot fit", file("x: boolean", "  a: {ask: {question: q, answer: [true, 'no']}, write: {x: '${answer}'}}", edge), `4:60: one of the answers does not fit: channel "x" holds values of type boolean, not string`},
		{"node named continue", file("", "  continue: {write: {}}\n  a: {write: {}}", edge), `4:3: "continue" has a meaning of its own in on_error`},
		{"expression cut off by a comment", file("x: array", "  a:\n    write:\n      x: ${map(x, #.k)}", edge), "6:10: the ${ has no } (put quotes around it: # begins a comment in YAML)"},
		{"comment behind an expression", file("list: array", "  a:\n    write:\n      list: ${lst} # the list", edge), `6:15: unknown name "lst" (did you mean "list"?)`},
		{"on_error leads nowhere", file("", "  repair: {write: {}}\n  a: {write: {}, on_error: repiar}", edge+"\n- a -> repair -> end"), `5:28: there is no node "repiar" (did you mean "repair"?)`},
		{"error outside of on_error", file("x: any", "  a: {write: {x: '${error.code}'}}", edge), `unknown name "error"`},
		{"only an error leads on", file("", "  a: {write: {}, on_error: b}\n  b: {write: {}}", "- start -> a\n- b -> end"), `4:3: only its error leads on from node "a"; add an edge for its success`},
		{"pause", file("", "  a: {write: {}, pause: during}", edge), `"during" is none of before, after`},
		{"route over a channel of another type", file("selected_server: number", "  a: {route: {capability: c}}", edge), `the route writes text to channel "selected_server", which is declared as number`},
		{"edges missing", "workflow: w\nnodes: {a: {write: {}}}", `the key "edges" is missing`},
		{"edges empty", file("", "  a: {write: {}}", "  []"), "6:3: start: nothing leads on from the start"},
		{"edge that is no edge", file("", "  a: {write: {}}", edge+"\n- a"), "7:3: an edge leads from a node to another"},
		{"edge of a number", file("", "  a: {write: {}}", edge+"\n- 1"), "7:3: an edge is expected here, not a number"},
		{"edge to an unknown node", file("", "  lint: {write: {}}", "- start -> lnit -> end"), `6:12: there is no node "lnit" (did you mean "lint"?)`},
		{"edge to the start", file("", "  a: {write: {}}", edge+"\n- a -> start"), "7:8: nothing can lead to the start"},
		{"edge from the end", file("", "  a: {write: {}}", "- start -> a -> end -> a"), "6:17: nothing leads on from the end"},
		{"edge with a hole", file("", "  a: {write: {}}", "- start -> -> a -> end"), "the name of a node is missing"},
		{"edge with half a bracket", file("", "  a: {write: {}}", "- start -> [a -> end"), "6:12: a bracket is missing"},
		{"edge with a bare comma", file("", "  a: {write: {}}", "- start -> a, b -> end"), "a comma stands outside of brackets"},
		{"edge with an unquoted bracket", file("", "  a: {write: {}}", edge+"\n- [a] -> end"), "put quotes around an edge that begins with a bracket"},
		{"join that can never run", file("", "  a: {write: {}}", edge+"\n- '[a, start] -> a'"), "it waits for"},
		{"condition of an edge", file("n: number", "  a: {write: {}}", "- start -> a\n- {from: a, when: '${n}', to: end}"), "7:19: a value of type boolean is expected here, not number"},
		{"edge with item", file("n: number", "  a: {write: {}}", "- start -> a\n- {from: a, when: '${item}', to: end}"), `unknown name "item"`},
		{"else without when", file("n: number", "  a: {write: {}}", edge+"\n- {from: a, to: end, else: a}"), "else needs a condition"},
		{"choose and when", file("n: number", "  a: {write: {}}", edge+"\n- {from: a, to: a, when: '${true}', choose: [{when: '${true}', to: end}]}"), "choose takes its when and to from its own list"},
		{"goto without to", file("n: string", "  a: {write: {}}", edge+"\n- {from: a, goto: '${n}'}"), `7:3: the key "to" is missing`},
		{"goto of the wrong type", file("n: number", "  a: {write: {}}", edge+"\n- {from: a, goto: '${n}', to: end}"), "goto gives the name of a node or a list of names, not a value of type number"},
		{"unreachable", file("", "  a: {write: {}}\n  b: {write: {}}", edge+"\n- b -> end"), `5:3: node "b": nothing leads to it from the start (add an edge, such as: start -> b)`},
		{"leads nowhere", file("", "  a: {write: {}}\n  b: {write: {}}", edge+"\n- a -> b"), `5:3: node "b": nothing leads on from it`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := faults(t, c.text); !strings.Contains(got, c.want) {
				t.Errorf("faults:\n%s\nwant one with %s", got, c.want)
			}
		})
	}
}

func TestAnUnreadableEdgeDoesNotMakeItsNodesUnreachable(t *testing.T) {
	got := faults(t, file("", "  lint: {write: {}}", "- start -> lnit -> end"))
	if strings.Contains(got, "\n") {
		t.Errorf("one mistake was reported as several:\n%s", got)
	}
}

func TestInputIsConvertedToTheChannelsTypes(t *testing.T) {
	w := parse(t, file("s: string, n: number, i: integer, b: boolean, l: array, o: object, x: any, log: {reduce: append}", "  a: {write: {}}", "- start -> a -> end"))
	got, err := w.Input(obj{
		"s": "5", "n": "2.5", "i": "9007199254740993", "b": "true", "l": `["a"]`, "o": `{"k": 1}`, "x": "5", "log": []string{"a"},
	})
	want := obj{
		"s": "5", "n": 2.5, "i": int64(9007199254740993), "b": true, "l": []any{"a"}, "o": obj{"k": int64(1)}, "x": "5", "log": []any{"a"},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	_, err = w.Input(obj{"s": 5, "n": "five", "i": 1.5, "b": "yes", "l": "{}", "lgo": "x", "o": make(chan int)})
	wantFaults := strings.TrimSpace(`
channel "b" holds values of type boolean; the text given is none (not JSON: a value is expected at byte 0) (true or false)
channel "i" holds values of type integer, not fraction (such as 3)
channel "l" holds values of type array, not object (such as ["a", "b"])
channel "n" holds values of type number; the text given is none (not JSON: a value is expected at byte 0) (such as 1.5)
channel "o": a Go chan int has no JSON form (such as {"key": "value"})
channel "s" holds values of type string, not number
workflow "w" has no channel "lgo" (did you mean "log"?)`)
	var fs document.Faults
	if !errors.As(err, &fs) || err.Error() != wantFaults || fs[6].Path != "lgo" {
		t.Errorf("got\n%v\nwant\n%s", err, wantFaults)
	}
}

func TestTheTextIsKeptAndItsHashIsTheVersion(t *testing.T) {
	text := file("", "  a: {write: {}}", "- start -> a -> end")
	w := parse(t, text)
	if string(w.Text) != text || w.Hash != state.Hash([]byte(text)) || w.Spec(nil).Version != w.Hash || w.Name != "w" || w.File != "w.yaml" {
		t.Errorf("%+v", w)
	}
}

func TestUsesListsWhatTheNodesAskFor(t *testing.T) {
	w, err := workflow.Load("testdata/code-review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []workflow.Use{
		{Node: "diff", Capability: "diff", Line: 9, Column: 12},
		{Node: "review", Capability: "code-review", Line: 14, Column: 7},
	}
	if d := cmp.Diff(want, w.Uses()); d != "" {
		t.Error(d)
	}
	w = parse(t, file("s: string", "  a: {call: {server: '${s}', tool: t}}\n  b: {route: {capability: c}}", "- start -> a -> b -> end"))
	if d := cmp.Diff([]workflow.Use{{Node: "a", Tool: "t", Line: 4, Column: 13}, {Node: "b", Capability: "c", Route: true, Line: 5, Column: 14}}, w.Uses()); d != "" {
		t.Error(d)
	}
}

func TestLoadSaysWhatIsWrongWithTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := workflow.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	if _, err := workflow.Load(dir); err == nil || !strings.Contains(err.Error(), "a directory: name the file in it") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := workflow.Load("-"); err == nil || !strings.Contains(err.Error(), "/dev/stdin") {
		t.Errorf("standard input: %v", err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, document.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workflow.Load(large); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/code-review.yaml", "testdata/faults.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		"workflow: w\nnodes: {a: {write: {}}}\nedges: ['start -> [a] -> end']",
		"workflow: w\nstate: {x: &x {type: array, reduce: append}, y: *x}\nnodes: {a: {route: {server: s}}}\nedges: [{from: start, goto: '${y}', to: [a, end]}]",
		"workflow: w\nnodes: {a: {ask: {question: q, answer: [1]}, on_error: {goto: a}}}\nedges: [{from: start, choose: [{when: '${true}', to: a}], else: end}, a -> end]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := workflow.Parse("f.yaml", data)
		if err != nil {
			var fs document.Faults
			if !errors.As(err, &fs) || len(fs) == 0 {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		if _, err := graph.Compile(w.Spec(nil)); err != nil {
			t.Fatalf("a file without faults does not compile: %v", err)
		}
	})
}

func ExampleWorkflow_Spec() {
	w, err := workflow.Load("testdata/code-review.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The router is what makes hops; here two functions stand for the servers.
	g, err := graph.Compile(w.Spec(codeReview("low")))
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := w.Input(obj{"repo": "./service"})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := g.Run(context.Background(), graph.RunOptions{Input: in, Definition: w.Text})
	fmt.Println(res.Status, res.State["findings"], err)
	// Output:
	// completed [map[path:a.go severity:low] map[path:b.js severity:low]] <nil>
}

func ExampleWorkflow_Input() {
	w, err := workflow.Load("testdata/code-review.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := w.Input(obj{"repo": "./service", "approved": "true"})
	fmt.Println(in, err)
	_, err = w.Input(obj{"aproved": "true"})
	fmt.Println(err)
	// Output:
	// map[approved:true repo:./service] <nil>
	// workflow "code-review" has no channel "aproved" (did you mean "approved"?)
}

func ExampleParse() {
	_, err := workflow.Parse("review.yaml", []byte(`
workflow: review
state:
  files: {type: array}
nodes:
  lint:
    each: "${fiels}"
    call: {capabilty: lint}
edges:
  - start -> lnit -> end
`))
	fmt.Println(err)
	// Output:
	// review.yaml:7:14: unknown name "fiels" (did you mean "files"?)
	// review.yaml:8:11: nothing says which server is wanted (add capability: …, or server: … and tool: …)
	// review.yaml:8:12: unknown key "capabilty" (did you mean "capability"?)
	// review.yaml:10:14: there is no node "lnit" (did you mean "lint"?)
}
