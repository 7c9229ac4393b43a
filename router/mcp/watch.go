package mcp

import (
	"bytes"
	"strings"
)

// watch looks through an event stream for the event that holds an answer: a message
// with an id and without a method. It keeps nothing of what it has seen, however
// large an event is. The zero value stands at the stream's beginning.
type watch struct {
	line   []byte // the beginning of the line, as far as its field's name
	inData bool   // in the value of a data field
	begun  bool   // this line holds something
	data   members
}

// answer returns how much of p comes before the end of the first event with an
// answer; -1: that is not in p.
func (w *watch) answer(p []byte) int {
	for i := 0; i < len(p); i++ {
		if w.inData {
			if i += w.data.idle(p[i:]); i == len(p) {
				break
			}
		}
		c := p[i]
		switch {
		case c == '\r': // ends a line together with LF only
		case c == '\n':
			found := !w.begun && w.data.response()
			if !w.begun {
				w.data.forget()
			}
			w.line, w.inData, w.begun = w.line[:0], false, false
			if found {
				return i + 1
			}
		case w.inData:
			w.data.take(c)
		default:
			w.begun = true
			if len(w.line) < len("data:") {
				w.line = append(w.line, c)
				w.inData = string(w.line) == "data:"
			}
		}
	}
	return -1
}

// members watches a JSON object for the names of its own members, a byte at a
// time and without judging whether it is one.
type members struct {
	depth    int
	quoted   bool // in a string
	escaped  bool // after a backslash in one
	naming   bool // that string is a member's name
	expected bool // the next string is
	name     []byte
	id       bool
	method   bool
}

// longestMember is as much of a name as matters.
const longestMember = 16

func (m *members) forget() { *m = members{name: m.name[:0]} }

// idle is how much of p take need not see: the inside of a string that names
// nothing, which is most of a large answer.
func (m *members) idle(p []byte) int {
	if !m.quoted || m.naming || m.escaped {
		return 0
	}
	for _, end := range []byte{'"', '\\', '\n'} {
		if i := bytes.IndexByte(p, end); i >= 0 {
			p = p[:i]
		}
	}
	return len(p)
}

func (m *members) take(c byte) {
	if m.quoted {
		m.inString(c)
		return
	}
	switch c {
	case '"':
		m.quoted, m.naming, m.name = true, m.depth == 1 && m.expected, m.name[:0]
	case '{':
		m.depth++
		m.expected = true
	case '[':
		m.depth++
		m.expected = false
	case '}', ']':
		m.depth--
	case ',':
		m.expected = true
	case ':':
		m.expected = false
	}
}

func (m *members) inString(c byte) {
	switch {
	case c == '"' && !m.escaped:
		m.quoted = false
		if m.naming {
			m.named(string(m.name))
		}
		return
	case m.naming && len(m.name) < longestMember:
		m.name = append(m.name, c)
	}
	m.escaped = c == '\\' && !m.escaped
}

// named notes a member. A name may be written in many ways, and mcp-go knows id in
// each of them.
func (m *members) named(name string) {
	m.id = m.id || strings.EqualFold(name, "id") || strings.Contains(name, `\`)
	m.method = m.method || name == "method"
}

// response reports an answer: it has an id, and asks for nothing.
func (m *members) response() bool { return m.id && !m.method }
