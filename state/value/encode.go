package value

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encode writes v as canonical JSON: keys sorted by their bytes, no space, no
// escape that JSON does not ask for, floats in their shortest form. Besides
// canonical values it takes whatever [Normalize] takes. A value without an exact
// JSON form is a *PathError.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append is [Encode] onto the end of dst. On an error dst is returned as it
// was, though the array behind it may have been written to.
func Append(dst []byte, v any) ([]byte, error) {
	out, err := appendValue(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float64:
		if i, ok := integral(v); ok {
			return strconv.AppendInt(dst, i, 10), nil
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			_, err := float(v)
			return nil, err
		}
		return appendFloat(dst, v), nil
	case string:
		return appendText(dst, v)
	case []any:
		return appendArray(dst, v, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	n, err := normalize(v, depth)
	if err != nil {
		return nil, err
	}
	return appendValue(dst, n, depth)
}

func appendArray(dst []byte, list []any, depth int) ([]byte, error) {
	if list == nil {
		return append(dst, "null"...), nil
	}
	if depth == MaxDepth {
		return nil, &PathError{Err: errDepth}
	}
	dst = append(dst, '[')
	var err error
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, e, depth+1); err != nil {
			return nil, underIndex(i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, obj map[string]any, depth int) ([]byte, error) {
	if obj == nil {
		return append(dst, "null"...), nil
	}
	if depth == MaxDepth {
		return nil, &PathError{Err: errDepth}
	}
	var few [16]string // most objects are small: their keys sort on the stack
	keys := few[:0]
	for k := range obj {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, k); err != nil {
			return nil, underKey(k, err)
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, obj[k], depth+1); err != nil {
			return nil, underKey(k, err)
		}
	}
	return append(dst, '}'), nil
}

const hex = "0123456789abcdef"

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errText
	}
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}
