package value

import (
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errText error = &PathError{Err: errors.New("text is not valid UTF-8; encode it, for example as base64")}

// Normalize returns the canonical form of v as a deep copy: v's numbers, lists
// and maps of any Go type, json.Number, json.RawMessage, time.Time (RFC 3339
// with nanoseconds), and structs and marshalers by their JSON form. NaN,
// infinities, integers beyond int64, channels, functions and text that is not
// UTF-8 are a *PathError.
func Normalize(v any) (any, error) { return normalize(v, 0) }

func normalize(v any, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, errText
		}
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		return float(v)
	case float32:
		// A float32 means its shortest decimal form: 0.1, not 0.10000000149.
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return float(f)
		}
		return number(strconv.FormatFloat(float64(v), 'g', -1, 32))
	case []any:
		if v == nil {
			return nil, nil
		}
		return list(len(v), depth, func(i int) any { return v[i] })
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		return object(v, depth)
	case json.RawMessage:
		return parsed(v, depth)
	case json.Number:
		return parsed([]byte(v), depth)
	case json.Marshaler, encoding.TextMarshaler:
		return marshalled(v, depth)
	}
	return reflected(reflect.ValueOf(v), depth)
}

func list(n, depth int, at func(int) any) (any, error) {
	if depth == MaxDepth {
		return nil, &PathError{Err: errDepth}
	}
	out := make([]any, n)
	for i := range out {
		e, err := normalize(at(i), depth+1)
		if err != nil {
			return nil, underIndex(i, err)
		}
		out[i] = e
	}
	return out, nil
}

func object(m map[string]any, depth int) (any, error) {
	if depth == MaxDepth {
		return nil, &PathError{Err: errDepth}
	}
	out := make(map[string]any, len(m))
	var first error // of the smallest key, so that the report never varies
	var firstKey string
	for k, v := range m {
		e, err := normalize(v, depth+1)
		if err == nil && !utf8.ValidString(k) {
			err = errText
		}
		if err != nil && (first == nil || k < firstKey) {
			first, firstKey = err, k
		}
		out[k] = e
	}
	if first != nil {
		return nil, underKey(firstKey, first)
	}
	return out, nil
}

func parsed(data []byte, depth int) (any, error) {
	p := parser{data: data}
	v, err := p.value(depth)
	if err == nil {
		if p.space(); p.pos < len(data) {
			err = p.fail("something after the end")
		}
	}
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return nil, &PathError{Err: err}
	}
	return v, err
}

func marshalled(v any, depth int) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &PathError{Err: err}
	}
	return parsed(data, depth)
}

func reflected(rv reflect.Value, depth int) (any, error) {
	switch rv.Kind() {
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.String:
		return normalize(rv.String(), depth)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return rv.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if u := rv.Uint(); u > math.MaxInt64 {
			return nil, failf("%d is beyond the range of integers (int64); send it as text", u)
		}
		return int64(rv.Uint()), nil
	case reflect.Float32:
		return normalize(float32(rv.Float()), depth)
	case reflect.Float64:
		return float(rv.Float())
	case reflect.Pointer:
		if rv.IsNil() {
			return nil, nil
		}
		if depth == MaxDepth {
			return nil, &PathError{Err: errDepth}
		}
		return normalize(rv.Elem().Interface(), depth+1)
	case reflect.Slice, reflect.Array:
		if rv.Kind() == reflect.Slice && rv.IsNil() {
			return nil, nil
		}
		if rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() == reflect.Uint8 {
			return marshalled(rv.Interface(), depth) // bytes are base64 text
		}
		return list(rv.Len(), depth, func(i int) any { return rv.Index(i).Interface() })
	case reflect.Map:
		return reflectedMap(rv, depth)
	case reflect.Struct:
		v, err := marshalled(rv.Interface(), depth)
		if err != nil {
			return nil, locate(rv, depth, err)
		}
		return v, nil
	}
	return nil, failf("a Go %s has no JSON form", rv.Type())
}

func reflectedMap(rv reflect.Value, depth int) (any, error) {
	if rv.IsNil() {
		return nil, nil
	}
	if _, text := reflect.Zero(rv.Type().Key()).Interface().(encoding.TextMarshaler); text || rv.Type().Key().Kind() != reflect.String {
		return marshalled(rv.Interface(), depth)
	}
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value().Interface()
	}
	return object(m, depth)
}

// locate finds the field because of which a struct has no JSON form, which
// encoding/json does not tell.
func locate(rv reflect.Value, depth int, err error) error {
	var p *PathError
	if errors.As(err, &p) && p.Path != "" || depth >= MaxDepth {
		return err
	}
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if _, ferr := normalize(rv.Field(i).Interface(), depth+1); ferr != nil {
			return underKey(name, ferr)
		}
	}
	return err
}
