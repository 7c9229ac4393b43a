package graph

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"

	"junction/state/value"
)

// ReducerNamed returns the built-in reducer of a name: "sum", "max", "min" or
// "merge".
func ReducerNamed(name string) (Reducer, bool) {
	r, ok := map[string]Reducer{"sum": ReduceSum, "max": ReduceMax, "min": ReduceMin, "merge": ReduceMerge}[name]
	return r, ok
}

var errOverflow = errors.New("the sum is beyond 64 bits")

// ReduceSum adds numbers. A sum beyond int64 or with a float64 that cannot hold
// it is an error, not a rounded number.
func ReduceSum(old, write any) (any, error) {
	if a, ok := old.(int64); ok {
		if b, ok := write.(int64); ok {
			return addInt(a, b)
		}
	}
	o, w, err := numbers(old, write)
	if err != nil {
		return nil, err
	}
	switch {
	case o.CanInt() && w.CanInt():
		sum, err := addInt(o.Int(), w.Int())
		if err == nil && o.OverflowInt(sum) {
			err = errOverflow
		}
		return asType(sum, o), err
	case o.CanUint() && w.CanUint():
		sum := o.Uint() + w.Uint()
		if sum < o.Uint() || o.OverflowUint(sum) {
			return nil, errOverflow
		}
		return asType(sum, o), nil
	}
	sum := float(o) + float(w)
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil, errOverflow
	}
	if o.CanFloat() {
		return asType(sum, o), nil
	}
	return value.Normalize(sum)
}

// ReduceMax keeps the greater number.
func ReduceMax(old, write any) (any, error) { return extreme(old, write, 1) }

// ReduceMin keeps the smaller number.
func ReduceMin(old, write any) (any, error) { return extreme(old, write, -1) }

// ReduceMerge writes the keys of a map over those of the old one.
func ReduceMerge(old, write any) (any, error) {
	if a, ok := old.(map[string]any); ok {
		b, ok := write.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("cannot merge %s into an object", value.Kind(write))
		}
		m := make(map[string]any, len(a)+len(b))
		maps.Copy(m, a)
		maps.Copy(m, b)
		return m, nil
	}
	o, w := reflect.ValueOf(old), reflect.ValueOf(write)
	if o.Kind() != reflect.Map || w.Kind() != reflect.Map {
		return nil, fmt.Errorf("cannot merge %T into %T: both must be maps", write, old)
	}
	m := reflect.MakeMapWithSize(o.Type(), o.Len()+w.Len())
	for _, from := range []reflect.Value{o, w} {
		for i := from.MapRange(); i.Next(); {
			m.SetMapIndex(i.Key(), i.Value())
		}
	}
	return m.Interface(), nil
}

func extreme(old, write any, sign int) (any, error) {
	o, w, err := numbers(old, write)
	if err != nil {
		return nil, err
	}
	if compareNumbers(w, o)*sign > 0 {
		return write, nil
	}
	return old, nil
}

func numbers(old, write any) (o, w reflect.Value, err error) {
	o, w = reflect.ValueOf(old), reflect.ValueOf(write)
	for _, v := range []reflect.Value{o, w} {
		if !v.IsValid() || !v.CanInt() && !v.CanUint() && !v.CanFloat() {
			return o, w, fmt.Errorf("cannot reduce %T with %T: both must be numbers", write, old)
		}
	}
	return o, w, nil
}

// compareNumbers compares integers exactly and everything else as float64.
func compareNumbers(a, b reflect.Value) int {
	switch {
	case a.CanInt() && b.CanInt():
		return order(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return order(a.Uint(), b.Uint())
	}
	return order(float(a), float(b))
}

func order[N int64 | uint64 | float64](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func addInt(a, b int64) (int64, error) {
	sum := a + b
	if (sum > a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return sum, nil
}

func float(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}

func asType(n any, like reflect.Value) any {
	return reflect.ValueOf(n).Convert(like.Type()).Interface()
}
