package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"junction/graph"
	"junction/state/memory"
)

// A review fans out over files, adds up findings, and asks before it publishes.
func Example() {
	type Review struct {
		Files     []string `json:"files"`
		Findings  []string `json:"findings" reduce:"append"`
		Published bool     `json:"published"`
	}
	type Found struct {
		Findings []string `json:"findings"`
	}
	type Done struct {
		Published graph.Set[bool] `json:"published"`
	}

	b := graph.New[Review]("review", nil)
	graph.AddEach(b, "lint", func(r Review) []string { return r.Files },
		func(_ context.Context, _ Review, file string) (Found, error) {
			if strings.HasSuffix(file, "_test.go") {
				return Found{}, nil // a nil slice is no write
			}
			return Found{Findings: []string{file + ": no test"}}, nil
		})
	graph.AddNode(b, "gate", func(ctx context.Context, r Review) (Done, error) {
		answer, err := graph.Ask(ctx, fmt.Sprintf("publish %d findings?", len(r.Findings)))
		if err != nil {
			return Done{}, err // pauses the thread until the answer is there
		}
		return Done{Published: graph.SetTo(string(answer) == "true")}, nil
	})
	b.Edge(graph.Start, "lint", "gate", graph.End)
	g, err := b.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, store := context.Background(), memory.New(nil)
	res, err := g.Run(ctx, Review{Files: []string{"a.go", "b.go", "b_test.go"}}, graph.RunOptions{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, string(res.Interrupts[0].Value))

	res, err = g.Resume(ctx, res.Thread, graph.RunOptions{Store: store, Answers: map[string]json.RawMessage{"": json.RawMessage("true")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.State.Findings, res.State.Published)
	// Output:
	// interrupted "publish 2 findings?"
	// completed [a.go: no test b.go: no test] true
}

// A Spec is the untyped form, which workflow files build too.
func ExampleCompile() {
	_, err := graph.Compile(graph.Spec{
		Name:  "broken",
		Nodes: []graph.Node{{Name: "lint", Run: func(context.Context, graph.Input) (graph.Update, error) { return graph.Update{}, nil }}},
		Edges: []graph.Edge{{From: []string{graph.Start}, To: "lnit"}},
	})
	fmt.Println(err)
	// Output:
	// graph "broken" has 2 faults:
	//   edge start → lnit: leads to node lnit, which does not exist; known are lint
	//   node "lint": nothing leads on from it; add an edge to its successor or to end
}

// A thread can be made now and run later, here or in another process. While
// somebody runs it, Busy says what a second resume does.
func ExampleTyped_Create() {
	type Order struct {
		Item string `json:"item"`
	}
	type Sent struct {
		Item graph.Set[string] `json:"item"`
	}
	b := graph.New[Order]("order", nil)
	graph.AddNode(b, "send", func(_ context.Context, o Order) (Sent, error) {
		return Sent{Item: graph.SetTo(o.Item + ", sent")}, nil
	})
	b.Edge(graph.Start, "send", graph.End)
	g, err := b.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, store := context.Background(), memory.New(nil)
	thread, err := g.Create(ctx, Order{Item: "lamp"}, graph.RunOptions{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := store.Thread(ctx, thread)
	fmt.Println(t.Status, err)

	res, err := g.Resume(ctx, thread, graph.RunOptions{Store: store, Busy: graph.BusyQueue})
	fmt.Println(res.Status, res.State.Item, err)
	// Output:
	// pending <nil>
	// completed lamp, sent <nil>
}
