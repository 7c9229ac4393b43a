package graph

import (
	"fmt"
	"reflect"
)

// Set is an optional write of a scalar in a partial update; its zero value is no
// write.
type Set[T any] struct {
	value T
	ok    bool
}

// SetTo is a write of v.
func SetTo[T any](v T) Set[T] { return Set[T]{v, true} }

func (s Set[T]) write() (v any, ok, overwrite bool) { return s.value, s.ok, false }
func (s Set[T]) holds() reflect.Type                { return reflect.TypeFor[T]() }

// Overwrite is an optional write that bypasses its channel's reducer, or begins
// an append channel anew; its zero value is no write.
type Overwrite[T any] struct {
	value T
	ok    bool
}

// OverwriteWith is a write of v past the reducer.
func OverwriteWith[T any](v T) Overwrite[T] { return Overwrite[T]{v, true} }

func (o Overwrite[T]) write() (v any, ok, overwrite bool) { return o.value, o.ok, true }
func (o Overwrite[T]) holds() reflect.Type                { return reflect.TypeFor[T]() }

// A Goto as a field of a partial update names the node's successors in place of
// its edges; nil follows the edges. The node declares where it may go with
// [MayGo].
type Goto []Send

// GoTo names nodes, or End, as successors.
func GoTo(nodes ...string) Goto {
	g := make(Goto, len(nodes))
	for i, n := range nodes {
		g[i] = Send{Node: n}
	}
	return g
}

// optional is what Set and Overwrite have in common.
type optional interface {
	write() (v any, ok, overwrite bool)
	holds() reflect.Type
}

var (
	optionalType = reflect.TypeFor[optional]()
	gotoType     = reflect.TypeFor[Goto]()
)

// partial turns a node's returned struct into writes.
type partial struct {
	fields []partialField
	goes   int // index of the Goto field, −1 without
}

type partialField struct {
	index   int
	channel string
	form    partialForm
}

type partialForm int

const (
	formAlways   partialForm = iota // a field of the state type itself
	formNilable                     // nil is no write
	formPointer                     // nil is no write, else what it points to
	formOptional                    // Set or Overwrite
)

// newPartial checks a partial type against the state.
func newPartial(s *layout, state, t reflect.Type, place string) (*partial, []Fault) {
	p := &partial{goes: -1}
	fault := func(name, m string) []Fault {
		return []Fault{{Kind: FaultType, Place: place, Name: name, Message: m}}
	}
	if t.Kind() != reflect.Struct {
		return p, fault("", fmt.Sprintf("it returns %s; a partial update is a struct whose fields name channels", t))
	}
	if t == state && s.reduced {
		return p, fault("", "it returns the whole state, which has reduced channels: what it read would be folded in again; return a partial update")
	}
	var faults []Fault
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == gotoType && f.IsExported() {
			p.goes = i
			continue
		}
		name, ok, wrong := fieldName(f)
		if wrong != "" {
			faults = append(faults, fault(f.Name, "field "+f.Name+": "+wrong)...)
		}
		if !ok {
			continue
		}
		ch, known := s.byName[name]
		if !known {
			faults = append(faults, Fault{Kind: FaultUnknown, Place: place, Name: name, Message: fmt.Sprintf("field %s writes channel %q, which the state does not have", f.Name, name)})
			continue
		}
		form, wrong := formOf(f.Type, s.channels[ch].Type, t == state)
		if wrong != "" {
			faults = append(faults, fault(name, fmt.Sprintf("field %s: %s", f.Name, wrong))...)
			continue
		}
		p.fields = append(p.fields, partialField{index: i, channel: name, form: form})
	}
	return p, faults
}

// formOf decides how a field of a partial says "no write".
func formOf(field, channel reflect.Type, whole bool) (partialForm, string) {
	if whole {
		return formAlways, ""
	}
	if field.Implements(optionalType) {
		held := reflect.Zero(field).Interface().(optional).holds()
		if held != channel {
			return 0, fmt.Sprintf("it holds %s, the channel %s", held, channel)
		}
		return formOptional, ""
	}
	if field == channel {
		switch field.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
			return formNilable, ""
		}
		return 0, fmt.Sprintf("a %s cannot say whether it is written; make it *%s or graph.Set[%s]", field, field, field)
	}
	if field.Kind() == reflect.Pointer && field.Elem() == channel {
		return formPointer, ""
	}
	return 0, fmt.Sprintf("%s does not fit the channel's %s", field, channel)
}

// writes names the channels a partial can write.
func (p *partial) writes() []string {
	names := make([]string, 0, len(p.fields))
	for _, f := range p.fields {
		names = append(names, f.channel)
	}
	return names
}

// update reads a returned partial.
func (p *partial) update(v reflect.Value) Update {
	var u Update
	for _, f := range p.fields {
		field := v.Field(f.index)
		w := Write{Channel: f.channel}
		switch f.form {
		case formAlways:
			w.Value = field.Interface()
		case formOptional:
			value, ok, over := field.Interface().(optional).write()
			if !ok {
				continue
			}
			w.Value, w.Overwrite = value, over
		default:
			if field.IsNil() {
				continue
			}
			if f.form == formPointer {
				field = field.Elem()
			}
			w.Value = field.Interface()
		}
		u.Writes = append(u.Writes, w)
	}
	if p.goes >= 0 && !v.Field(p.goes).IsNil() {
		u.Goto, u.Named = v.Field(p.goes).Interface().(Goto), true
	}
	return u
}
