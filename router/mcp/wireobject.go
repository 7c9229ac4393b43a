package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
)

// field is one member of a JSON object, its value as it was written.
type field struct {
	name       string
	key, value []byte // the key with its quotes
}

// fieldsOf lists the members of a JSON object in their order; false: raw is none.
// Key and value point into raw.
func fieldsOf(raw []byte) ([]field, bool) {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return nil, false
	}
	var all []field
	for rest := blank(raw[1:]); rest[0] != '}'; {
		n := span(rest)
		f := field{key: rest[:n]}
		rest = blank(blank(rest[n:])[1:]) // the colon
		n = span(rest)
		f.value = rest[:n]
		if rest = blank(rest[n:]); rest[0] == ',' {
			rest = blank(rest[1:])
		}
		if f.name = string(f.key[1 : len(f.key)-1]); bytes.IndexByte(f.key, '\\') >= 0 {
			if json.Unmarshal(f.key, &f.name) != nil {
				return nil, false
			}
		}
		all = append(all, f)
	}
	return all, true
}

func blank(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// span is the length of the value that valid JSON begins with.
func span(b []byte) int {
	switch b[0] {
	case '"':
		return textEnd(b)
	case '{', '[':
		return nestEnd(b)
	}
	if n := bytes.IndexAny(b, ",]} \t\r\n"); n >= 0 { // of what is around a number or a word
		return n
	}
	return len(b)
}

// object writes members as a JSON object.
func object(all []field) []byte {
	size := 2
	for _, f := range all {
		size += len(f.key) + len(f.value) + 2
	}
	out := append(make([]byte, 0, size), '{')
	for i, f := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, f.key...), ':'), f.value...)
	}
	return append(out, '}')
}

// valueOf is a member's value; nil: there is none. Of several by one name the last
// counts, as it does for encoding/json.
func valueOf(all []field, name string) []byte {
	for _, f := range slices.Backward(all) {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// without leaves a member out.
func without(all []field, name string) []field {
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool { return f.name == name })
}

// with sets a member, in its place if it has one, else as the last.
func with(all []field, name string, value []byte) []field {
	out, placed := make([]field, 0, len(all)+1), false
	for _, f := range all {
		if f.name != name {
			out = append(out, f)
		} else if !placed {
			f.value, placed = value, true
			out = append(out, f)
		}
	}
	if !placed {
		out = append(out, field{name: name, key: []byte(`"` + name + `"`), value: value})
	}
	return out
}
