package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// takenApart takes an answer apart whose form leaves no doubt: an object of the members
// jsonrpc, id (an integer) and result (an object), each once, and nothing after it.
// Whether the result is JSON inside its braces is not looked at. Anything else is not
// ok, an answer that says of an error among it.
func takenApart(body []byte) (id int64, result json.RawMessage, ok bool) {
	c := cutter{rest: body}
	if !c.takes('{') {
		return 0, nil, false
	}
	var version, number []byte
	for {
		name := c.value('"')
		if !c.takes(':') {
			return 0, nil, false
		}
		var into *[]byte
		kind := byte(0)
		switch string(name) {
		case `"jsonrpc"`:
			into, kind = &version, '"'
		case `"id"`:
			into = &number
		case `"result"`:
			into, kind = (*[]byte)(&result), '{'
		}
		if into == nil || *into != nil {
			return 0, nil, false
		}
		if *into = c.value(kind); *into == nil {
			return 0, nil, false
		}
		if c.takes('}') {
			break
		}
		if !c.takes(',') {
			return 0, nil, false
		}
	}
	if c.space(); len(c.rest) > 0 || string(version) != `"2.0"` || result == nil {
		return 0, nil, false
	}
	id, err := strconv.ParseInt(string(number), 10, 64)
	return id, result, err == nil
}

// cutter cuts JSON into pieces, from its beginning.
type cutter struct{ rest []byte }

func (c *cutter) space() { c.rest = blank(c.rest) }

func (c *cutter) takes(b byte) bool {
	if c.space(); len(c.rest) == 0 || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// value cuts off a text ('"'), an object ('{') or a number (0); nil: there is none.
func (c *cutter) value(kind byte) []byte {
	c.space()
	if len(c.rest) == 0 || kind != 0 && c.rest[0] != kind {
		return nil
	}
	n := 0
	switch kind {
	case '"':
		n = textEnd(c.rest)
	case '{':
		n = nestEnd(c.rest)
	default:
		for n < len(c.rest) && (c.rest[n] == '-' || '0' <= c.rest[n] && c.rest[n] <= '9') {
			n++
		}
	}
	if n <= 0 {
		return nil
	}
	cut := c.rest[:n:n]
	c.rest = c.rest[n:]
	return cut
}

// textEnd is the length of the text that b begins with; 0: it does not end.
func textEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return 0
}

// nestEnd is the length of the object or list that b begins with; 0: it does not end.
func nestEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := textEnd(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
