package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner splits a program into tokens.
type scanner struct {
	src    string
	pos    int
	line   int
	start  int // offset of the line's first byte
	tokens []token
	open   []token // brackets
	blocks []block
	depth  int // of formatted strings around this place
}

// block is an indentation: its width with tabs to the next eighth column, and
// with tabs as one space. Both must agree for the indentation to mean the same
// to every reader.
type block struct{ width, narrow int }

// scan returns the tokens, and with a fault those before it.
func scan(source string) (tokens []token, fault *Fault) {
	s := &scanner{src: strings.TrimPrefix(source, "\ufeff"), line: 1, blocks: []block{{}}}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*Fault)
			if !ok {
				panic(r)
			}
			tokens, fault = append(s.tokens, token{kind: eof, line: f.Line, column: f.Column}), f
		}
	}()
	for s.logicalLine() {
	}
	for range s.blocks[1:] {
		s.add(dedent, "")
	}
	s.add(eof, "")
	return s.tokens, nil
}

// fail stops the scan at an offset on the current line.
func (s *scanner) fail(at int, format string, args ...any) {
	panic(&Fault{Line: s.line, Column: at - s.start + 1, Rule: Syntax, Message: fmt.Sprintf(format, args...)})
}

func (s *scanner) add(k kind, text string) {
	s.tokens = append(s.tokens, token{kind: k, text: text, line: s.line, column: s.pos - len(text) - s.start + 1})
}

func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.src) {
		return s.src[s.pos+n]
	}
	return 0
}

// breakLength is the length of the line break at the place; 0: there is none.
func (s *scanner) breakLength() int {
	switch s.peek(0) {
	case '\n':
		return 1
	case '\r':
		if s.peek(1) == '\n' {
			return 2
		}
		return 1
	}
	return 0
}

func (s *scanner) nextLine(length int) {
	s.pos += length
	s.line++
	s.start = s.pos
}

// logicalLine scans a line with all its continuations; false at the end.
func (s *scanner) logicalLine() bool {
	width := s.measure()
	if s.blank() {
		return s.pos < len(s.src)
	}
	s.dent(width)
	for s.pos < len(s.src) {
		if n := s.breakLength(); n > 0 {
			if len(s.open) == 0 {
				s.add(newline, "")
				s.nextLine(n)
				return true
			}
			s.nextLine(n)
			continue
		}
		s.token()
	}
	if len(s.open) > 0 {
		o := s.open[len(s.open)-1]
		panic(&Fault{Line: o.line, Column: o.column, Rule: Syntax, Message: fmt.Sprintf("'%s' was never closed", o.text)})
	}
	s.add(newline, "")
	return false
}

// measure skips the spaces that a line begins with.
func (s *scanner) measure() block {
	var b block
	for ; ; s.pos++ {
		switch s.peek(0) {
		case ' ':
			b.width++
			b.narrow++
		case '\t':
			b.width = (b.width/tabWidth + 1) * tabWidth
			b.narrow++
		case '\f':
			b = block{}
		default:
			return b
		}
	}
}

// blank skips a line without a token.
func (s *scanner) blank() bool {
	if s.peek(0) == '#' {
		s.comment()
	}
	if n := s.breakLength(); n > 0 {
		s.nextLine(n)
		return true
	}
	return s.pos >= len(s.src)
}

func (s *scanner) comment() {
	for s.pos < len(s.src) && s.breakLength() == 0 {
		s.pos++
	}
}

// dent compares a line's indentation with the blocks around it.
func (s *scanner) dent(b block) {
	top := s.blocks[len(s.blocks)-1]
	if b.width > top.width {
		if b.narrow <= top.narrow {
			s.fail(s.start, "inconsistent use of tabs and spaces in indentation")
		}
		s.blocks = append(s.blocks, b)
		s.add(indent, "")
		return
	}
	for b.width < s.blocks[len(s.blocks)-1].width {
		s.blocks = s.blocks[:len(s.blocks)-1]
		s.add(dedent, "")
	}
	switch top = s.blocks[len(s.blocks)-1]; {
	case b.width != top.width:
		s.fail(s.pos, "unindent does not match any outer indentation level")
	case b.narrow != top.narrow:
		s.fail(s.start, "inconsistent use of tabs and spaces in indentation")
	}
}

// token scans one token, or skips what stands between tokens.
func (s *scanner) token() {
	switch c := s.peek(0); {
	case c == ' ' || c == '\t' || c == '\f':
		s.pos++
	case c == '#':
		s.comment()
	case c == '\\':
		s.continuation()
	case c >= '0' && c <= '9', c == '.' && s.peek(1) >= '0' && s.peek(1) <= '9':
		s.number()
	case c == '"' || c == '\'':
		s.str("")
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf:
		s.word()
	default:
		s.operator()
	}
}

func (s *scanner) continuation() {
	s.pos++
	switch n := s.breakLength(); {
	case n > 0:
		s.nextLine(n)
		if s.pos >= len(s.src) {
			s.fail(s.pos, "the file ends after a line continuation")
		}
	default:
		s.fail(s.pos, "unexpected character after line continuation character")
	}
}

func (s *scanner) word() {
	from := s.pos
	for s.pos < len(s.src) {
		r, n := utf8.DecodeRuneInString(s.src[s.pos:])
		if !identifier(r, s.pos > from) {
			break
		}
		s.pos += n
	}
	if s.pos == from {
		r, _ := utf8.DecodeRuneInString(s.src[from:])
		s.fail(from, "invalid character '%c' (U+%04X)", r, r)
	}
	word := s.src[from:s.pos]
	if c := s.peek(0); (c == '"' || c == '\'') && len(word) <= 2 && stringPrefixes[strings.ToLower(word)] {
		s.str(word)
		return
	}
	if keywords[word] {
		s.add(keyword, word)
		return
	}
	s.add(name, word)
}

// identifier is generous about letters: which of them a version of Python
// knows depends on its Unicode tables.
func identifier(r rune, inside bool) bool {
	if r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_ID_Start, r) {
		return true
	}
	return inside && (unicode.IsDigit(r) || unicode.IsMark(r) || unicode.Is(unicode.Pc, r) || unicode.Is(unicode.Other_ID_Continue, r))
}

var closers = map[string]string{")": "(", "]": "[", "}": "{"}

func (s *scanner) operator() {
	for _, ops := range operators {
		n := len(ops[0])
		if s.pos+n > len(s.src) {
			continue
		}
		for _, op := range ops {
			if s.src[s.pos:s.pos+n] != op {
				continue
			}
			s.pos += n
			s.add(operator, op)
			s.bracket(s.tokens[len(s.tokens)-1])
			return
		}
	}
	s.fail(s.pos, "invalid character '%c'", s.peek(0))
}

func (s *scanner) bracket(t token) {
	switch t.text {
	case "(", "[", "{":
		s.open = append(s.open, t)
	case ")", "]", "}":
		if len(s.open) == 0 {
			s.fail(s.pos-1, "unmatched '%s'", t.text)
		}
		if o := s.open[len(s.open)-1]; o.text != closers[t.text] {
			s.fail(s.pos-1, "closing parenthesis '%s' does not match opening parenthesis '%s' on line %d", t.text, o.text, o.line)
		}
		s.open = s.open[:len(s.open)-1]
	}
}
