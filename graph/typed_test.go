package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/graph"
	"junction/state"
)

type finding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Data any    `json:"data,omitempty"`
}

type review struct {
	Repo     string         `json:"repo"`
	Files    []string       `json:"files"`
	Findings []finding      `json:"findings" reduce:"append"`
	Cost     int            `json:"cost" reduce:"sum"`
	Worst    float64        `json:"worst" reduce:"max"`
	Seen     map[string]int `json:"seen" reduce:"merge"`
	Approved bool           `json:"approved"`
	Note     *string        `json:"note"`
	Skipped  string         `json:"-"`
}

type found struct {
	Findings []finding          `json:"findings"`
	Cost     *int               `json:"cost"`
	Worst    graph.Set[float64] `json:"worst"`
	Seen     map[string]int     `json:"seen"`
}

func typedReview(t *testing.T, fail *bool) *graph.Typed[review] {
	t.Helper()
	type files struct {
		Files []string `json:"files"`
	}
	type approval struct {
		Approved graph.Set[bool] `json:"approved"`
		Next     graph.Goto
	}
	b := graph.New[review]("review", &graph.Options{Version: "1"})
	graph.AddNode(b, "diff", func(_ context.Context, r review) (files, error) {
		return files{Files: []string{r.Repo + "/a.go", r.Repo + "/b.go"}}, nil
	})
	graph.AddEach(b, "review", func(r review) []string { return r.Files },
		func(_ context.Context, r review, file string) (found, error) {
			if *fail && strings.HasSuffix(file, "b.go") {
				return found{}, errBoom
			}
			cost := 2
			return found{
				Findings: []finding{{File: file, Line: 1, Data: map[string]any{"big": int64(1 << 60)}}},
				Cost:     &cost, Worst: graph.SetTo(float64(len(file))), Seen: map[string]int{file: 1},
			}, nil
		})
	graph.AddNode(b, "gate", func(_ context.Context, r review) (approval, error) {
		if len(r.Findings) > 1 {
			return approval{Next: graph.GoTo("publish")}, nil
		}
		return approval{Next: graph.GoTo(graph.End)}, nil
	}, graph.MayGo("publish", graph.End))
	graph.AddNode(b, "publish", func(context.Context, review) (approval, error) {
		return approval{Approved: graph.SetTo(true)}, nil
	})
	b.Edge(graph.Start, "diff", "review", "gate")
	b.Edge("publish", graph.End)
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestATypedGraphRunsAndResumesWithItsOwnTypes(t *testing.T) {
	fail := true
	g := typedReview(t, &fail)
	store := newStore(t)
	res, err := g.Run(t.Context(), review{Repo: "r"}, graph.RunOptions{Store: store, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res.Result, state.StatusFailed)
	fail = false
	res, err = g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res.Result, state.StatusCompleted)
	data := map[string]any{"big": int64(1 << 60)}
	want := review{
		Repo: "r", Files: []string{"r/a.go", "r/b.go"},
		Findings: []finding{{"r/a.go", 1, data}, {"r/b.go", 1, data}},
		Cost:     4, Worst: 6, Seen: map[string]int{"r/a.go": 1, "r/b.go": 1}, Approved: true,
	}
	if d := cmp.Diff(want, res.State); d != "" {
		t.Fatal(d)
	}
}

func TestTypeFaultsAreFoundWhenTheGraphIsBuilt(t *testing.T) {
	type badState struct {
		Repo  string            `json:"repo"`
		Tags  map[string]string `json:"tags" reduce:"append"`
		Name  string            `json:"name" reduce:"sum"`
		Other int               `json:"other" reduce:"median"`
		Files []string          `json:"files" reduce:"append"`
		finding
	}
	type badPartial struct {
		Repo    string         `json:"repo"`
		Missing *int           `json:"missing"`
		Files   []int          `json:"files"`
		Name    graph.Set[int] `json:"name"`
	}
	b := graph.New[badState]("bad", nil)
	graph.AddNode(b, "n", func(context.Context, badState) (badPartial, error) { return badPartial{}, nil },
		graph.OnError(func(context.Context, review, error) (found, error) { return found{}, nil }))
	graph.AddNode(b, "whole", func(_ context.Context, s badState) (badState, error) { return s, nil })
	graph.AddNode(b, "word", func(context.Context, badState) (string, error) { return "", nil })
	b.Edge("n")
	b.Edge(graph.Start, "n", "whole", "word", "ghost")
	_, err := b.Compile()
	var e *graph.SpecError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range e.Faults {
		got = append(got, string(f.Kind)+" "+f.Place+" "+f.Name)
	}
	want := []string{
		`type state field "Tags" tags`, `type state field "Name" name`, `type state field "Other" other`, `type state field "finding" finding`,
		`type node "n" repo`, `unknown node "n" missing`, `type node "n" files`, `type node "n" name`,
		`type error handler of node "n" `,
		`type node "whole" `, `type node "word" `,
		`value edge [n] `, `unknown edge word → ghost ghost`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s\n%v", d, err)
	}
}

func TestAnEmptyListIsAWriteAndNilIsNone(t *testing.T) {
	type s struct {
		Files []string `json:"files"`
		Log   []string `json:"log" reduce:"append"`
	}
	type p struct {
		Files []string                  `json:"files"`
		Log   graph.Overwrite[[]string] `json:"log"`
	}
	for name, c := range map[string]struct{ write, want []string }{"nil": {nil, []string{"old"}}, "empty": {[]string{}, []string{}}} {
		t.Run(name, func(t *testing.T) {
			b := graph.New[s]("g", nil)
			graph.AddNode(b, "n", func(context.Context, s) (p, error) {
				return p{Files: c.write, Log: graph.OverwriteWith([]string{"anew"})}, nil
			})
			b.Edge(graph.Start, "n", graph.End)
			g, err := b.Compile()
			if err != nil {
				t.Fatal(err)
			}
			res, err := g.Run(t.Context(), s{Files: []string{"old"}, Log: []string{"x", "y"}}, graph.RunOptions{Store: newStore(t)})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(s{Files: c.want, Log: []string{"anew"}}, res.State); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestWholeStateMayBeReturnedWithoutReducedChannels(t *testing.T) {
	type s struct{ N, M int }
	b := graph.New[s]("g", nil)
	graph.AddNode(b, "n", func(_ context.Context, x s) (s, error) { return s{x.N + 1, x.M}, nil })
	b.Edge(graph.Start, "n")
	b.Route("n", func(x s) string {
		if x.N < 3 {
			return "n"
		}
		return graph.End
	}, "n", graph.End)
	g, err := b.Compile()
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(t.Context(), s{M: 7}, graph.RunOptions{})
	if err != nil || res.State != (s{3, 7}) {
		t.Fatalf("%+v, %v, %v", res.State, err, res.Err)
	}
}
