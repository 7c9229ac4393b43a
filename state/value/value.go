// Package value is the data model of channels, arguments and results: JSON with
// exact numbers.
//
// A canonical value is nil, bool, string, int64, float64, []any or
// map[string]any, nested at most [MaxDepth] deep. An integral number is an
// int64 wherever it fits, so integers beyond 2⁵³ survive; a float64 stands only
// for a number it holds exactly (see [Parse]); text is valid UTF-8; time is
// RFC 3339 text. Nothing is rounded, replaced or dropped in silence: what has no
// exact form is a [*PathError] that names its place.
//
// Canonical values are equal when [Equal] says so, which is when [Encode] gives
// the same bytes.
package value

// MaxDepth bounds the nesting of lists and objects, in both directions.
const MaxDepth = 1000

// Kind names v's JSON type as people and JSON Schema do: "null", "boolean",
// "number", "string", "array" or "object". A value that is not canonical has
// the kind "".
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64, float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// Clone returns a deep copy of a canonical value.
func Clone(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = Clone(e)
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = Clone(e)
		}
		return c
	}
	return v
}

// Equal reports whether two canonical values are the same value. Values that
// are not canonical equal nothing.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool, string, int64, float64:
		return a == b
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, av := range a {
			if bv, ok := b[k]; !ok || !Equal(av, bv) {
				return false
			}
		}
		return true
	}
	return false
}
