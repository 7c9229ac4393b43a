package graph

import (
	"fmt"
	"reflect"
	"slices"

	"junction/state/value"
)

// cell is a channel's value, or its absence.
type cell struct {
	value any
	ok    bool
}

// view reads one immutable set of cells.
type view struct {
	g     *Graph
	cells []cell
}

// Get returns a channel's value and whether it has one.
func (v *view) Get(channel string) (any, bool) {
	i, ok := v.g.channels[channel]
	if !ok {
		return nil, false
	}
	return v.cells[i].value, v.cells[i].ok
}

// values returns the channels that have a value, for a Result.
func (v *view) values() map[string]any {
	m := make(map[string]any, len(v.cells))
	for i, c := range v.cells {
		if c.ok {
			m[v.g.spec.Channels[i].Name] = c.value
		}
	}
	return m
}

// empty is the value of an append channel that holds nothing.
func (c *Channel) empty() any {
	if c.Type == nil {
		return []any{}
	}
	return reflect.MakeSlice(c.Type, 0, 0).Interface()
}

// accept checks that v fits the channel and returns it in the form in which
// nodes may be given it: canonical without a type, and never with room behind a
// slice's length into which an append of one node would write for another.
func (c *Channel) accept(v any) (any, error) {
	v, err := fit(c.Type, v)
	if err != nil || !c.Append || c.Type != nil {
		return v, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case nil:
		return []any{}, nil
	}
	return nil, fmt.Errorf("an append channel takes a list of items, not %s", value.Kind(v))
}

// fit checks v against a Go type, or makes it canonical where there is none.
func fit(t reflect.Type, v any) (any, error) {
	if t == nil {
		n, err := value.Normalize(v)
		return clip(n), err
	}
	if v == nil {
		switch t.Kind() {
		case reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
			return reflect.Zero(t).Interface(), nil
		}
		return nil, fmt.Errorf("null does not fit %s", t)
	}
	got := reflect.TypeOf(v)
	if got != t && !got.AssignableTo(t) {
		return nil, fmt.Errorf("%s does not fit %s", got, t)
	}
	return clip(v), nil
}

// clip takes away the room behind a slice's length.
func clip(v any) any {
	switch s := v.(type) {
	case nil, bool, string, int, int64, float64, map[string]any:
		return v
	case []any:
		return slices.Clip(s)
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice || r.Cap() == r.Len() {
		return v
	}
	return r.Slice3(0, r.Len(), r.Len()).Interface()
}
