package graph_test

import (
	"context"
	"strings"
	"testing"

	"junction/graph"
	"junction/state"
)

func TestALargeWriteIsWarnedOfAndKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes int
		warns bool
	}{
		{"at the limit", graph.LargeWriteLimit - 2, false}, // and two quotes
		{"above it", graph.LargeWriteLimit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := compile(t, graph.Spec{
				Channels: []graph.Channel{{Name: "text"}},
				Nodes: []graph.Node{{Name: "n", Run: func(context.Context, graph.Input) (graph.Update, error) {
					return graph.Update{Writes: []graph.Write{{Channel: "text", Value: strings.Repeat("x", c.bytes)}}}, nil
				}}},
				Edges: edges([]string{graph.Start, "n", graph.End}),
			})
			var warned []graph.LargeWrite
			res := run(t, g, graph.RunOptions{Store: newStore(t), OnEvent: func(e graph.Event) {
				if e.Kind == graph.EventLargeWrite {
					warned = append(warned, e.Value.(graph.LargeWrite))
				}
			}})
			wantStatus(t, res, state.StatusCompleted)
			if (len(warned) == 1) != c.warns || c.warns && (warned[0].Channel != "text" || warned[0].Bytes != c.bytes+2) {
				t.Errorf("warned of %v", warned)
			}
			if text, ok := res.State["text"].(string); !ok || len(text) != c.bytes {
				t.Error("the value was not kept")
			}
		})
	}
}
