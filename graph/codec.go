package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"junction/state/value"
)

// encode turns a value into what the store keeps.
func encode(t reflect.Type, v any) (json.RawMessage, error) {
	if t == nil {
		return value.Encode(v)
	}
	return json.Marshal(v)
}

// decode is the inverse of encode.
func decode(t reflect.Type, raw json.RawMessage) (any, error) {
	if t == nil {
		v, err := value.Parse(raw)
		return value.Clone(v), err // a copy has no room behind the length of its lists
	}
	p := reflect.New(t)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(p.Interface()); err != nil {
		return nil, err
	}
	if err := exact(p.Elem()); err != nil {
		return nil, err
	}
	return p.Elem().Interface(), nil
}

// exact replaces the json.Numbers that decoding left in interface values by
// exact int64 or float64, as package value holds them, and takes away the room
// it left behind the length of slices: an append of one reader would write there
// for another.
func exact(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() || v.NumMethod() > 0 {
			return nil
		}
		n, err := value.Normalize(v.Interface())
		if err == nil {
			v.Set(reflect.ValueOf(&n).Elem())
		}
		return err
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return exact(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				if err := exact(f); err != nil {
					return err
				}
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Cap() > v.Len() {
			v.Set(v.Slice3(0, v.Len(), v.Len()))
		}
		if !mayHoldAny(v.Type().Elem()) {
			return nil
		}
		for i := range v.Len() {
			if err := exact(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		return exactMap(v)
	}
	return nil
}

func exactMap(v reflect.Value) error {
	if !mayHoldAny(v.Type().Elem()) {
		return nil
	}
	for _, k := range v.MapKeys() {
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(v.MapIndex(k))
		if err := exact(e); err != nil {
			return err
		}
		v.SetMapIndex(k, e)
	}
	return nil
}

// mayHoldAny spares the walk over long lists of plain values.
func mayHoldAny(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// items encodes the items of an append channel's write one by one.
func (c *Channel) items(v any) ([]json.RawMessage, error) {
	if list, ok := v.([]any); ok && c.Type == nil {
		raws := make([]json.RawMessage, len(list))
		for i, e := range list {
			raw, err := value.Encode(e)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", i, err)
			}
			raws[i] = raw
		}
		return raws, nil
	}
	r := reflect.ValueOf(v)
	raws := make([]json.RawMessage, r.Len())
	for i := range raws {
		raw, err := json.Marshal(r.Index(i).Interface())
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		raws[i] = raw
	}
	return raws, nil
}

// list joins encoded items to one JSON array.
func list(items []json.RawMessage) json.RawMessage {
	n := 2
	for _, i := range items {
		n += len(i) + 1
	}
	b := append(make([]byte, 0, n), '[')
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, item...)
	}
	return append(b, ']')
}

// log decodes the items of an append channel.
func (c *Channel) log(items []json.RawMessage) (any, error) {
	return decode(c.Type, list(items))
}

// encodeAny writes any Go value in canonical form.
func encodeAny(v any) (json.RawMessage, error) {
	n, err := value.Normalize(v)
	if err != nil {
		return nil, err
	}
	return value.Encode(n)
}
