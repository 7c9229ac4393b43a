package syntax

import "strings"

var stringPrefixes = map[string]bool{
	"r": true, "u": true, "b": true, "br": true, "rb": true,
	"f": true, "fr": true, "rf": true, "t": true, "tr": true, "rt": true,
}

// str scans a string whose prefix has been read.
func (s *scanner) str(prefix string) {
	lower := strings.ToLower(prefix)
	begin := token{kind: text, line: s.line, column: s.pos - len(prefix) - s.start + 1, str: &stringToken{
		bytes:     strings.Contains(lower, "b"),
		formatted: strings.ContainsAny(lower, "ft"),
		template:  strings.Contains(lower, "t"),
	}}
	from := s.pos
	quote := s.src[s.pos : s.pos+1]
	if strings.HasPrefix(s.src[s.pos:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	s.pos += len(quote)
	q := &quoted{quote: quote, raw: strings.Contains(lower, "r"), begin: begin}
	for !strings.HasPrefix(s.src[s.pos:], quote) {
		s.stringPart(q)
	}
	s.pos += len(quote)
	begin.text = s.src[from:s.pos]
	s.tokens = append(s.tokens, begin)
}

// quoted is a string being scanned.
type quoted struct {
	quote string
	raw   bool
	begin token
}

// unterminated reports the string at its beginning.
func (q *quoted) unterminated() {
	what := "unterminated string literal"
	if len(q.quote) == 3 {
		what = "unterminated triple-quoted string literal"
	}
	panic(&Fault{Line: q.begin.line, Column: q.begin.column, Rule: Syntax, Message: what})
}

// stringPart scans one character of a string, an escape or a replacement field.
func (s *scanner) stringPart(q *quoted) {
	if s.pos >= len(s.src) {
		q.unterminated()
	}
	if n := s.breakLength(); n > 0 {
		if len(q.quote) == 1 {
			q.unterminated()
		}
		s.nextLine(n)
		return
	}
	formatted := q.begin.str.formatted
	switch c := s.peek(0); {
	case c == '\\':
		s.escape(q)
	case formatted && c == '{' && s.peek(1) == '{', formatted && c == '}' && s.peek(1) == '}':
		s.pos += 2
	case formatted && c == '{':
		s.field(q)
	case formatted && c == '}':
		s.fail(s.pos, "f-string: single '}' is not allowed")
	default:
		s.pos++
	}
}

// escape skips a backslash and what it escapes. In a raw string a backslash
// keeps a quote from ending it, and nothing more.
func (s *scanner) escape(q *quoted) {
	s.pos++
	if n := s.breakLength(); n > 0 {
		s.nextLine(n)
		return
	}
	if q.begin.str.formatted {
		switch c := s.peek(0); {
		case c == '{' || c == '}':
			return // a backslash does not escape a brace
		case c == 'N' && s.peek(1) == '{' && !q.raw:
			s.namedCharacter(q)
			return
		}
	}
	if s.pos < len(s.src) {
		s.pos++
	}
}

// namedCharacter skips \N{NAME}, whose braces are no field.
func (s *scanner) namedCharacter(q *quoted) {
	end := strings.IndexByte(s.src[s.pos:], '}')
	if end < 0 {
		q.unterminated()
	}
	s.pos += end + 1
}

// field scans a replacement field: an expression, =, a conversion and a format,
// of which all but the first may be absent.
func (s *scanner) field(q *quoted) {
	if s.depth >= maxStringDepth {
		panic(&Fault{Line: s.line, Column: s.pos - s.start + 1, Rule: TooDeep, Message: "nested too deeply to be checked"})
	}
	at := token{kind: eof, line: s.line, column: s.pos - s.start + 1}
	s.pos++
	inner := &scanner{src: s.src, pos: s.pos, line: s.line, start: s.start, depth: s.depth + 1}
	inner.fieldExpression(q)
	s.pos, s.line, s.start = inner.pos, inner.line, inner.start
	if len(inner.tokens) == 0 {
		s.fail(s.pos, "f-string: a valid expression is required before '%c'", max(s.peek(0), ' '))
	}
	q.begin.str.fields = append(q.begin.str.fields, append(inner.tokens, at))
	s.conversion()
	if s.peek(0) == ':' {
		s.pos++
		s.format(q)
	}
	if s.peek(0) != '}' {
		s.fail(s.pos, "f-string: expecting '}'")
	}
	s.pos++
}

// fieldExpression scans up to what ends the expression: outside of brackets a
// '}', a ':', a '!' that begins no '!=', or an '=' that is followed by one of
// them.
func (s *scanner) fieldExpression(q *quoted) {
	for {
		if s.pos >= len(s.src) {
			q.unterminated()
		}
		if n := s.breakLength(); n > 0 {
			s.nextLine(n)
			continue
		}
		if len(s.open) == 0 && s.fieldEnds() {
			return
		}
		s.token()
	}
}

func (s *scanner) fieldEnds() bool {
	switch s.peek(0) {
	case '}', ':':
		return true
	case '!':
		return s.peek(1) != '='
	case '=':
		if s.peek(1) == '=' {
			return false
		}
		rest := strings.TrimLeft(s.src[s.pos+1:], " \t\r\n")
		if len(s.tokens) > 0 && rest != "" && strings.IndexByte("}:!", rest[0]) >= 0 && !strings.HasPrefix(rest, "!=") {
			return true
		}
	}
	return false
}

// conversion scans "=" and "!r".
func (s *scanner) conversion() {
	if s.peek(0) == '=' {
		s.pos++
		s.skipSpace()
	}
	if s.peek(0) != '!' {
		return
	}
	s.pos++
	switch s.peek(0) {
	case 's', 'r', 'a':
		s.pos++
		s.skipSpace()
	default:
		s.fail(s.pos, "f-string: invalid conversion character: expected 's', 'r', or 'a'")
	}
}

func (s *scanner) skipSpace() {
	for {
		if n := s.breakLength(); n > 0 {
			s.nextLine(n)
			continue
		}
		if c := s.peek(0); c != ' ' && c != '\t' {
			return
		}
		s.pos++
	}
}

// format scans a format up to the brace that ends its field.
func (s *scanner) format(q *quoted) {
	for s.peek(0) != '}' {
		if s.pos >= len(s.src) || strings.HasPrefix(s.src[s.pos:], q.quote) {
			q.unterminated()
		}
		if s.peek(0) == '{' && s.peek(1) != '{' {
			s.field(q)
			continue
		}
		s.stringPart(q)
	}
}
