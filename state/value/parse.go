package value

import (
	"encoding/json"
	"unicode/utf8"
)

// Parse reads one JSON text. An integral number, however it is written, is an
// int64 when it fits. Any other number is a float64, provided that printing the
// float64 to as many significant digits gives the number back: 0.1 and
// 0.10000000000000001 are numbers, 2⁶⁴−1 and thirty digits of π are errors that
// name the path. −0 is 0. Of a repeated key the last one counts. Text must be
// UTF-8. The result shares no memory with data.
func Parse(data []byte) (any, error) {
	p := parser{data: data}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.data) {
		return nil, p.fail("something after the end")
	}
	return v, nil
}

type parser struct {
	data []byte
	pos  int
	keys [32]string // recently read; the objects of a list mostly have the same ones
}

// key returns raw as text, the one read before where it is the same.
func (p *parser) key(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	slot := &p.keys[(uint(len(raw))*7+uint(raw[0])+uint(raw[len(raw)-1]))%uint(len(p.keys))]
	if *slot != string(raw) {
		*slot = string(raw)
	}
	return *slot
}

func (p *parser) fail(msg string) error { return &SyntaxError{Offset: p.pos, Msg: msg} }

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek skips space and returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.pos == len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) value(depth int) (any, error) {
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return nil, &PathError{Err: errDepth}
		}
		p.pos++
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '"':
		return p.text(false)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return true, p.word("true")
	case c == 'f':
		return false, p.word("false")
	case c == 'n':
		return nil, p.word("null")
	case p.pos == len(p.data):
		return nil, p.fail("unexpected end")
	}
	return nil, p.fail("a value is expected")
}

func (p *parser) word(w string) error {
	if len(p.data)-p.pos < len(w) || string(p.data[p.pos:p.pos+len(w)]) != w {
		return p.fail("a value is expected")
	}
	p.pos += len(w)
	return nil
}

func (p *parser) array(depth int) (any, error) {
	list := []any{}
	if p.peek() == ']' {
		p.pos++
		return list, nil
	}
	for {
		v, err := p.value(depth)
		if err != nil {
			return nil, underIndex(len(list), err)
		}
		list = append(list, v)
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return list, nil
		default:
			return nil, p.fail("',' or ']' is expected")
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	obj := map[string]any{}
	if p.peek() == '}' {
		p.pos++
		return obj, nil
	}
	for {
		if p.peek() != '"' {
			return nil, p.fail("a key is expected")
		}
		key, err := p.text(true)
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.fail("':' is expected")
		}
		p.pos++
		v, err := p.value(depth)
		if err != nil {
			return nil, underKey(key, err)
		}
		obj[key] = v
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return obj, nil
		default:
			return nil, p.fail("',' or '}' is expected")
		}
	}
}

// text reads a string, which may be a key; p.pos is at its opening quote.
// Escapes, which are rare, are left to encoding/json.
func (p *parser) text(key bool) (string, error) {
	start, plain := p.pos, true
	for i := start + 1; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			p.pos = i
			return "", p.fail("a control character in text")
		case c == '"':
			raw := p.data[start : i+1]
			if !utf8.Valid(raw) {
				return "", p.fail("text that is not UTF-8")
			}
			p.pos = i + 1
			switch {
			case plain && key:
				return p.key(raw[1 : len(raw)-1]), nil
			case plain:
				return string(raw[1 : len(raw)-1]), nil
			}
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				p.pos = start
				return "", p.fail("a bad escape in text")
			}
			return s, nil
		}
	}
	p.pos = len(p.data)
	return "", p.fail("text without an end")
}

func (p *parser) number() (any, error) {
	start := p.pos
	if p.data[p.pos] == '-' {
		p.pos++
	}
	leading := p.pos
	if n := p.digits(); n == 0 || n > 1 && p.data[leading] == '0' {
		p.pos = start
		return nil, p.fail("a malformed number")
	}
	if p.next('.') && p.digits() == 0 {
		return nil, p.fail("a malformed number")
	}
	if p.next('e') || p.next('E') {
		if !p.next('-') {
			p.next('+')
		}
		if p.digits() == 0 {
			return nil, p.fail("a malformed number")
		}
	}
	return number(string(p.data[start:p.pos]))
}

func (p *parser) next(c byte) bool {
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) digits() (n int) {
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
		n++
	}
	return n
}
