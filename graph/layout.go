package graph

import (
	"fmt"
	"reflect"
	"strings"
)

// layout maps a state struct to channels: field i of fields is channel i.
type layout struct {
	channels []Channel
	fields   []int // index of the struct's field
	byName   map[string]int
	reduced  bool // some channel has a reducer or appends
}

// newLayout reads a state struct.
func newLayout(t reflect.Type, more map[string]Reducer) (*layout, []Fault) {
	s := &layout{byName: map[string]int{}}
	if t.Kind() != reflect.Struct {
		return s, []Fault{{Kind: FaultType, Place: "state " + t.String(), Message: "the state must be a struct"}}
	}
	var faults []Fault
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok, fault := fieldName(f)
		if fault != "" {
			faults = append(faults, Fault{Kind: FaultType, Place: quoted("state field", f.Name), Name: f.Name, Message: fault})
		}
		if !ok {
			continue
		}
		ch := Channel{Name: name, Type: f.Type}
		if m := ch.fold(f.Tag.Get("reduce"), more); m != "" {
			faults = append(faults, Fault{Kind: FaultType, Place: quoted("state field", f.Name), Name: name, Message: m})
		}
		s.reduced = s.reduced || ch.Append || ch.Reduce != nil
		s.byName[name] = len(s.channels)
		s.channels = append(s.channels, ch)
		s.fields = append(s.fields, i)
	}
	return s, faults
}

// fieldName is a field's name in JSON; ok is false for fields that are none.
func fieldName(f reflect.StructField) (name string, ok bool, fault string) {
	if f.Anonymous {
		return "", false, "embedded fields are not channels; give it a name"
	}
	if !f.IsExported() {
		return "", false, ""
	}
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	switch name {
	case "-":
		return "", false, ""
	case "":
		return f.Name, true, ""
	}
	return name, true, ""
}

// fold applies a reduce tag, or says why it does not fit the channel's type.
func (c *Channel) fold(tag string, more map[string]Reducer) string {
	kind := c.Type.Kind()
	numeric := kind >= reflect.Int && kind <= reflect.Float64 && kind != reflect.Uintptr
	switch {
	case tag == "":
		return ""
	case more[tag] != nil:
		c.Reduce = more[tag]
		return ""
	case tag == "append":
		if kind != reflect.Slice {
			return fmt.Sprintf("only a slice can be appended to, not %s", c.Type)
		}
		c.Append = true
		return ""
	}
	r, ok := ReducerNamed(tag)
	switch {
	case !ok:
		return fmt.Sprintf("there is no reducer %q; known are append, max, merge, min, sum and those in Options", tag)
	case tag == "merge" && kind != reflect.Map:
		return fmt.Sprintf("only a map can be merged, not %s", c.Type)
	case tag != "merge" && !numeric:
		return fmt.Sprintf("only a number has a %s, not %s", tag, c.Type)
	}
	c.Reduce = r
	return ""
}

// stateOf assembles the state struct from a view.
func stateOf[S any](s *layout, v View) S {
	var out S
	p := reflect.ValueOf(&out).Elem()
	own, fast := v.(*view)
	for i, field := range s.fields {
		var value any
		if fast {
			value = own.cells[i].value // the builder's channels are the graph's, in order
		} else {
			value, _ = v.Get(s.channels[i].Name)
		}
		if value != nil {
			p.Field(field).Set(reflect.ValueOf(value))
		}
	}
	return out
}
