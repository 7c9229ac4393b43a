package bridge

import (
	"encoding/json"
	"slices"
)

// What passes between two eras is changed member by member, so that everything else
// stays as it was written: the order, and numbers of any length. The text is valid
// JSON, which whoever read the message has made sure of.

// setMember returns the object with the member set to the value, as its first where it
// is new. What is no object counts as an empty one.
func setMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if len(object) == 0 || object[0] != '{' {
		object = json.RawMessage(`{}`)
	}
	out := make([]byte, 1, len(object)+len(name)+len(value)+8)
	out[0] = '{'
	if member(object, name) == nil {
		out = appendMember(out, []byte(name), value)
	}
	for n, v := range members(object) {
		if string(n) == name {
			v = value
		}
		out = appendMember(out, n, v)
	}
	return append(out, '}')
}

// dropMembers returns the object without the named members.
func dropMembers(object json.RawMessage, names ...string) json.RawMessage {
	has := func(name string) bool { return member(object, name) != nil }
	if !slices.ContainsFunc(names, has) {
		return object
	}
	out := append(make([]byte, 0, len(object)), '{')
	for n, v := range members(object) {
		if !slices.Contains(names, string(n)) {
			out = appendMember(out, n, v)
		}
	}
	return append(out, '}')
}

func appendMember(out, name []byte, value json.RawMessage) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(out, quote(string(name))...)
	return append(append(out, ':'), value...)
}

// textIn is the named member's text; "" where it is none, or not there.
func textIn(object json.RawMessage, name string) string {
	s, _ := text(member(object, name))
	return s
}

// flagIn reports whether the named member is true.
func flagIn(object json.RawMessage, name string) bool { return string(member(object, name)) == "true" }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// quote is a text as JSON.
func quote(s string) json.RawMessage { return marshal(s) }

// marshal encodes what always has a JSON form.
func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("bridge: " + err.Error()) // a fault of this package
	}
	return b
}
