package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// LeafThreshold is the size in bytes from which a string of a value, as JSON,
// is stored by its hash instead of in its place.
const LeafThreshold = 64 << 10

// Leaf is a large string taken out of a value: its JSON text, quotes included,
// under its Hash.
type Leaf struct {
	Hash string
	Text []byte
}

// A reference stands in a packed value for a leaf: {"$blob":"HASH"}. An object
// of the user's that has a key of dollars and "blob" gets one dollar more when
// it is packed and loses it again, so no value can pose as a reference.
const (
	refStart = `{"$blob":"`
	refEnd   = `"}`
	refKey   = `$blob"` // what every packed value that needs unpacking contains
)

// Pack takes the large leaves out of a JSON value and leaves references in
// their places. Most values have none and come back as they are. Everything
// else keeps its bytes. The leaves' texts are parts of raw, not copies.
func Pack(raw json.RawMessage) (packed json.RawMessage, leaves []Leaf) {
	if len(raw) < LeafThreshold && !bytes.Contains(raw, []byte(refKey)) {
		return raw, nil
	}
	out := make([]byte, 0, min(len(raw), LeafThreshold)+64)
	for rest := []byte(raw); ; {
		before, text, after, found := nextString(rest)
		out = append(out, before...)
		if !found {
			return out, leaves
		}
		key := isKey(after)
		switch {
		case key && isRefKey(text):
			out = append(append(out, `"$`...), text[1:]...)
		case !key && len(text) >= LeafThreshold:
			leaf := Leaf{Hash: Hash(text), Text: text}
			out = append(append(append(out, refStart...), leaf.Hash...), refEnd...)
			leaves = append(leaves, leaf)
		default:
			out = append(out, text...)
		}
		rest = after
	}
}

// Unpack puts the leaves back; leaf returns the text stored under a hash.
func Unpack(packed json.RawMessage, leaf func(hash string) ([]byte, error)) (json.RawMessage, error) {
	if !bytes.Contains(packed, []byte(refKey)) {
		return packed, nil
	}
	out := make([]byte, 0, len(packed))
	for rest := []byte(packed); ; {
		before, text, after, found := nextString(rest)
		out = append(out, before...)
		if !found {
			return out, nil
		}
		switch {
		case !isKey(after) || !isRefKey(text):
			out = append(out, text...)
		case len(text) > len(`"$blob"`): // the user's
			out = append(append(out, '"'), text[2:]...)
		default:
			hash, end, err := refHash(after)
			if err != nil {
				return nil, err
			}
			data, err := leaf(hash)
			if err != nil {
				return nil, fmt.Errorf("large value %.12s…: %w", hash, err)
			}
			out = append(out[:len(out)-1], data...) // without the object's brace
			after = end
		}
		rest = after
	}
}

// nextString splits JSON at its next string: what stands before it, the string
// with its quotes, and what follows.
func nextString(b []byte) (before, text, after []byte, found bool) {
	start := bytes.IndexByte(b, '"')
	if start < 0 {
		return b, nil, nil, false
	}
	for i := start + 1; i < len(b); i++ {
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			break
		}
		if i += n; b[i] == '"' {
			return b[:start], b[start : i+1], b[i+1:], true
		}
		i++ // the escaped character
	}
	return b, nil, nil, false // not JSON: leave it alone
}

// isKey says whether the string that stands before after is an object's key.
func isKey(after []byte) bool {
	after = bytes.TrimLeft(after, " \t\r\n")
	return len(after) > 0 && after[0] == ':'
}

// isRefKey says whether a string is dollars, at least one, and "blob". Only its
// bytes count: a key that spells a dollar with an escape is never ours.
func isRefKey(text []byte) bool {
	name := text[1 : len(text)-1]
	dollars := bytes.TrimLeft(name, "$")
	return len(dollars) < len(name) && string(dollars) == "blob"
}

// refHash reads the rest of a reference, after its key.
func refHash(b []byte) (hash string, rest []byte, err error) {
	const prefix, size = `:"`, 64 // of a SHA-256 in hex
	if len(b) < len(prefix)+size+len(refEnd) || !bytes.HasPrefix(b, []byte(prefix)) || !bytes.HasPrefix(b[len(prefix)+size:], []byte(refEnd)) {
		return "", nil, errors.New("packed value holds a reference to no large value")
	}
	return string(b[len(prefix) : len(prefix)+size]), b[len(prefix)+size+len(refEnd):], nil
}
