package graph

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Options are a typed graph's settings; nil is the zero value.
type Options struct {
	Version        string             // stored with every thread; a mismatch on resume is refused
	RecursionLimit int                // supersteps; 0: DefaultRecursionLimit
	Reducers       map[string]Reducer // more names for the reduce tag
}

// Builder collects a typed graph: a struct S is the state, its JSON fields are
// the channels, a reduce tag ("append", "sum", "max", "min", "merge", or a name
// from Options) folds parallel writes. Faults are kept and reported by Compile.
type Builder[S any] struct {
	spec   Spec
	layout *layout
	faults []Fault
}

// New begins a graph of the given name over the state S.
func New[S any](name string, o *Options) *Builder[S] {
	if o == nil {
		o = &Options{}
	}
	b := &Builder[S]{spec: Spec{Name: name, Version: o.Version, RecursionLimit: o.RecursionLimit}}
	b.layout, b.faults = newLayout(reflect.TypeFor[S](), o.Reducers)
	b.spec.Channels = b.layout.channels
	return b
}

// AddNode adds a node: a function of the state that returns a partial update.
// P is a struct whose fields name channels: a nil slice, map or pointer is no
// write, scalars are pointers or [Set], [Overwrite] bypasses a reducer, [Goto]
// names the successors. P may be S itself, which writes every channel, when S
// has no reduced channels.
func AddNode[S, P any](b *Builder[S], name string, fn func(ctx context.Context, s S) (P, error), opts ...NodeOption) {
	partial := b.partial(name, reflect.TypeFor[P]())
	b.add(Node{Name: name, Writes: partial.writes(), Run: func(ctx context.Context, in Input) (Update, error) {
		p, err := fn(ctx, stateOf[S](b.layout, in.State))
		if err != nil {
			return Update{}, err
		}
		return partial.update(reflect.ValueOf(&p).Elem()), nil
	}}, opts)
}

// AddEach adds a fan-out: items is evaluated once when the node is planned, and
// fn runs once for each of them.
func AddEach[S, I, P any](b *Builder[S], name string, items func(s S) []I, fn func(ctx context.Context, s S, item I) (P, error), opts ...NodeOption) {
	partial := b.partial(name, reflect.TypeFor[P]())
	b.add(Node{Name: name, Writes: partial.writes(), Item: reflect.TypeFor[I](),
		Each: func(v View) ([]any, error) {
			list := items(stateOf[S](b.layout, v))
			all := make([]any, len(list))
			for i := range list {
				all[i] = list[i]
			}
			return all, nil
		},
		Run: func(ctx context.Context, in Input) (Update, error) {
			item, ok := in.Item.(I)
			if !ok && in.Item != nil {
				return Update{}, &UpdateError{Err: fmt.Errorf("item %d is %T, not %s", in.Task.Index, in.Item, reflect.TypeFor[I]())}
			}
			p, err := fn(ctx, stateOf[S](b.layout, in.State), item)
			if err != nil {
				return Update{}, err
			}
			return partial.update(reflect.ValueOf(&p).Elem()), nil
		}}, opts)
}

func (b *Builder[S]) add(n Node, opts []NodeOption) {
	s := nodeSettings{node: &n, state: reflect.TypeFor[S](), layout: b.layout}
	for _, o := range opts {
		o(&s)
	}
	if n.Writes != nil {
		for _, w := range s.writes {
			if !slices.Contains(n.Writes, w) {
				n.Writes = append(n.Writes, w)
			}
		}
	}
	b.faults = append(b.faults, s.faults...)
	b.spec.Nodes = append(b.spec.Nodes, n)
}

func (b *Builder[S]) partial(node string, t reflect.Type) *partial {
	p, faults := newPartial(b.layout, reflect.TypeFor[S](), t, quoted("node", node))
	b.faults = append(b.faults, faults...)
	return p
}

// Edge adds edges along a chain of nodes, which may begin with Start and finish
// with End.
func (b *Builder[S]) Edge(names ...string) {
	if len(names) < 2 {
		b.faults = append(b.faults, Fault{Kind: FaultValue, Place: fmt.Sprintf("edge %v", names), Message: "a chain needs two names at least"})
	}
	for i := 1; i < len(names); i++ {
		b.spec.Edges = append(b.spec.Edges, Edge{From: []string{names[i-1]}, To: names[i]})
	}
}

// Join runs to once all of from have run.
func (b *Builder[S]) Join(to string, from ...string) {
	b.spec.Edges = append(b.spec.Edges, Edge{From: from, To: to})
}

// Route leads from a node to the one that pick names, which must be one of
// targets.
func (b *Builder[S]) Route(from string, pick func(s S) string, targets ...string) {
	b.spec.Routes = append(b.spec.Routes, Route{From: from, To: targets, Pick: func(_ context.Context, v View) ([]string, error) {
		return []string{pick(stateOf[S](b.layout, v))}, nil
	}})
}

// Spec returns what was built so far.
func (b *Builder[S]) Spec() Spec { return b.spec }

// Compile checks the graph; every fault is reported at once in a *SpecError.
func (b *Builder[S]) Compile() (*Typed[S], error) {
	g, err := Compile(b.spec)
	if len(b.faults) > 0 {
		all := &SpecError{Graph: b.spec.Name, Faults: b.faults}
		if more := (*SpecError)(nil); errors.As(err, &more) {
			all.Faults = append(slices.Clone(b.faults), more.Faults...)
		}
		return nil, all
	}
	if err != nil {
		return nil, err
	}
	return &Typed[S]{graph: g, layout: b.layout}, nil
}
