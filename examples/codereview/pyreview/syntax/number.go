package syntax

import (
	"strings"
	"unicode/utf8"
)

// number scans a literal: an integer in any base, a float or an imaginary one.
func (s *scanner) number() {
	from := s.pos
	if base, ok := bases[strings.ToLower(s.src[from:min(from+2, len(s.src))])]; ok {
		s.pos += 2
		if s.peek(0) == '_' {
			s.pos++
		}
		if !s.digits(base) {
			s.fail(from, "invalid number")
		}
	} else {
		s.decimal(from)
	}
	s.endNumber(from)
	s.add(number, s.src[from:s.pos])
}

var bases = map[string]string{"0x": "0123456789abcdefABCDEF", "0o": "01234567", "0b": "01"}

const decimals = "0123456789"

func (s *scanner) decimal(from int) {
	s.digits(decimals)
	whole := s.src[from:s.pos]
	real := false
	if s.peek(0) == '.' {
		real = true
		s.pos++
		s.digits(decimals)
	}
	if c := s.peek(0); c == 'e' || c == 'E' {
		at := s.pos
		s.pos++
		if c := s.peek(0); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits(decimals) {
			real = true
		} else {
			s.pos = at // the e begins a word, as in "1else"
		}
	}
	if c := s.peek(0); c == 'j' || c == 'J' {
		real = true
		s.pos++
	}
	if !real && len(whole) > 1 && whole[0] == '0' && strings.Trim(whole, "0_") != "" {
		s.fail(from, "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers")
	}
}

// digits scans digits that single underscores may separate.
func (s *scanner) digits(of string) bool {
	from := s.pos
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case strings.IndexByte(of, c) >= 0:
		case c == '_' && s.pos > from && s.src[s.pos-1] != '_' && s.pos+1 < len(s.src) && strings.IndexByte(of, s.src[s.pos+1]) >= 0:
		default:
			return s.pos > from
		}
		s.pos++
	}
	return s.pos > from
}

// endNumber refuses a word right after a number, except for the keywords that
// Python allows there.
func (s *scanner) endNumber(from int) {
	r, _ := utf8.DecodeRuneInString(s.src[s.pos:])
	if s.pos >= len(s.src) || !identifier(r, true) {
		return
	}
	end := s.pos
	for end < len(s.src) && s.src[end] >= 'a' && s.src[end] <= 'z' {
		end++
	}
	switch s.src[s.pos:end] {
	case "and", "else", "for", "if", "in", "is", "not", "or":
		return
	}
	s.fail(from, "invalid number")
}
