package graph_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
)

func pick(context.Context, graph.View) ([]string, error) { return []string{"end"}, nil }

func TestEveryFaultOfASpecIsReportedAtOnce(t *testing.T) {
	_, err := graph.Compile(graph.Spec{
		Channels: []graph.Channel{
			{Name: "x"}, {Name: "x"}, {Name: ""},
			{Name: "list", Append: true, Type: reflect.TypeFor[int]()},
			{Name: "both", Append: true, Reduce: graph.ReduceSum},
			{Name: "typed", Type: reflect.TypeFor[int](), Default: "one"},
		},
		Nodes: []graph.Node{
			{Name: "a", Run: nothing, Writes: []string{"x", "y"}, Goto: []string{"nowhere"}},
			{Name: "a", Run: nothing},
			{Name: "start", Run: nothing},
			{Name: "lonely", Run: nothing, Timeout: -time.Second, Retry: &graph.Retry{Attempts: -1}},
			{Name: "idle"},
			{Name: "j", Run: nothing},
		},
		Edges: append(edges(line("start", "a", "ghost"), line("end", "a"), line("a", "start"), line("idle", "end"), line("j", "end")),
			graph.Edge{To: "a"},
			graph.Edge{From: []string{"a", "j"}, To: "j"},
			graph.Edge{From: []string{"a", "a"}, To: "j"},
			graph.Edge{From: []string{"a", "idle"}, To: "j"},
			graph.Edge{From: []string{"a", "lonely"}, To: "j"},
		),
		Routes:         []graph.Route{{From: "a"}, {From: "ghost", To: []string{"end", "ghost"}, Pick: pick}},
		RecursionLimit: -1,
	})
	var e *graph.SpecError
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, f := range e.Faults {
		got = append(got, string(f.Kind)+" "+f.Place+" "+f.Name)
	}
	want := []string{
		`name graph "" `, `value graph "" `,
		`name channel "x" x`, `name channel 3 `,
		`type channel "list" list`, `value channel "both" both`, `type channel "typed" typed`,
		`name node "a" a`, `name node "start" start`,
		`unknown node "a" y`, `unknown node "a" nowhere`,
		`value node "idle" idle`,
		`value node "lonely" lonely`, `value node "lonely" lonely`,
		`unknown edge a → ghost ghost`, `name edge end → a end`, `name edge a → start start`,
		`value edge  → a a`,
		`join edge a, j → j j`, `join edge a, a → j j`, `join edge a, lonely → j j`,
		`value route a →  a`, `value route a →  a`,
		`unknown route ghost → end | ghost ghost`, `unknown route ghost → end | ghost ghost`,
		`no_way_on node "lonely" lonely`,
		`unreachable node "idle" idle`, `unreachable node "lonely" lonely`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s\n%v", d, err)
	}
	if text := e.Error(); !strings.Contains(text, "28 faults") || !strings.Contains(text, "known are a, idle, j, lonely") {
		t.Fatal(text)
	}
}

func TestANodeWithoutAWayOnIsAFault(t *testing.T) {
	_, err := graph.Compile(graph.Spec{Name: "g", Nodes: []graph.Node{{Name: "a", Run: nothing}}, Edges: edges(line("start", "a"))})
	var e *graph.SpecError
	if !errors.As(err, &e) || len(e.Faults) != 1 || e.Faults[0].Kind != graph.FaultNoWayOn || e.Faults[0].Name != "a" {
		t.Fatalf("error %v", err)
	}
	_, err = graph.Compile(graph.Spec{Name: "g", Nodes: []graph.Node{{Name: "a", Run: nothing}}, Edges: edges(line("a", "end"))})
	if !errors.As(err, &e) || len(e.Faults) != 1 || e.Faults[0].Name != "start" {
		t.Fatalf("error %v", err)
	}
}

func TestNodesReachedByRoutesAndSuccessorsOnlyAreReachable(t *testing.T) {
	compile(t, graph.Spec{
		Nodes: []graph.Node{
			{Name: "a", Run: nothing, Goto: []string{"z"}},
			{Name: "c", Run: nothing},
			{Name: "m", Run: nothing},
			{Name: "z", Run: nothing},
		},
		Edges:  edges(line("start", "a", "end"), line("c", "end"), line("m", "c")),
		Routes: []graph.Route{{From: "z", To: []string{"m", "end"}, Pick: pick}},
	})
}

func TestMermaidDrawsTheSameGraphTheSameWay(t *testing.T) {
	g := compile(t, graph.Spec{
		Nodes: []graph.Node{
			{Name: "review", Run: nothing, Each: func(graph.View) ([]any, error) { return nil, nil }},
			{Name: `a "quoted" <name>`, Run: nothing, Goto: []string{"gate"}},
			{Name: "gate", Run: nothing, PauseBefore: true},
		},
		Edges: append(edges(line("start", "review"), line("start", `a "quoted" <name>`)),
			graph.Edge{From: []string{"review", `a "quoted" <name>`}, To: "gate"}),
		Routes: []graph.Route{{From: "gate", To: []string{"end", "review"}, Pick: pick}},
	})
	want := `flowchart TD
  start_([start])
  n0["a &quot;quoted&quot; &lt;name&gt;"]
  n1{{"gate"}}
  n2[["review"]]
  end_([end])
  start_ --> n0
  start_ --> n2
  n0 --> j0
  n0 -.-> n1
  n1 -.-> end_
  n1 -.-> n2
  n2 --> j0
  j0{{all}} --> n1
`
	if d := cmp.Diff(want, g.Mermaid()); d != "" {
		t.Fatal(d)
	}
}
