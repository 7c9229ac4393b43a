package graph

import (
	"context"
	"maps"
	"reflect"
)

// Typed is a compiled graph over the state S. It is safe for concurrent use.
type Typed[S any] struct {
	graph  *Graph
	layout *layout
}

// ResultOf is a Result with its state as S.
type ResultOf[S any] struct {
	Result
	State S
}

// Graph returns the untyped graph, for drawing or for tools.
func (t *Typed[S]) Graph() *Graph { return t.graph }

// Run is [Graph.Run] from an initial state: its fields that are not zero are
// the input, besides o.Input.
func (t *Typed[S]) Run(ctx context.Context, initial S, o RunOptions) (ResultOf[S], error) {
	o.Input = t.input(initial, o.Input)
	res, err := t.graph.Run(ctx, o)
	return t.typed(res), err
}

// input is an initial state's fields that are not zero, under what more is set.
func (t *Typed[S]) input(initial S, more map[string]any) map[string]any {
	v := reflect.ValueOf(&initial).Elem()
	input := make(map[string]any, len(t.layout.fields)+len(more))
	for i, f := range t.layout.fields {
		if field := v.Field(f); !field.IsZero() {
			input[t.layout.channels[i].Name] = field.Interface()
		}
	}
	maps.Copy(input, more)
	return input
}

// Create is [Graph.Create] from an initial state, as Run takes it.
func (t *Typed[S]) Create(ctx context.Context, initial S, o RunOptions) (thread string, err error) {
	o.Input = t.input(initial, o.Input)
	return t.graph.Create(ctx, o)
}

// Resume is [Graph.Resume].
func (t *Typed[S]) Resume(ctx context.Context, thread string, o RunOptions) (ResultOf[S], error) {
	res, err := t.graph.Resume(ctx, thread, o)
	return t.typed(res), err
}

func (t *Typed[S]) typed(res Result) ResultOf[S] {
	return ResultOf[S]{Result: res, State: stateOf[S](t.layout, valuesView(res.State))}
}

// valuesView reads a Result's state.
type valuesView map[string]any

func (v valuesView) Get(channel string) (any, bool) {
	x, ok := v[channel]
	return x, ok
}
