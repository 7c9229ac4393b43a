package expr

import "strings"

type piece struct {
	text       string
	expression bool
	offset     int // of text, in bytes
}

// scan splits a string into literal text and expressions.
func scan(s string) ([]piece, *Error) {
	var pieces []piece
	var literal strings.Builder
	flush := func(offset int) {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{text: literal.String(), offset: offset})
			literal.Reset()
		}
	}
	start := 0
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$${"):
			literal.WriteString("${")
			i += 3
		case strings.HasPrefix(s[i:], "${"):
			flush(start)
			end := closing(s, i+2)
			if end < 0 {
				return nil, &Error{Offset: i, Message: "the ${ has no }", Hint: "close it, or write $${ for the characters ${"}
			}
			pieces = append(pieces, piece{text: s[i+2 : end], expression: true, offset: i + 2})
			i = end + 1
			start = i
		default:
			literal.WriteByte(s[i])
			i++
		}
	}
	flush(start)
	return pieces, nil
}

// closing finds the } that ends an expression which begins at i, past nested
// braces, quoted text and comments; −1 when there is none.
func closing(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		case c == '"' || c == '\'' || c == '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '`' {
					i++
				}
			}
		case strings.HasPrefix(s[i:], "//"):
			n := strings.IndexByte(s[i:], '\n')
			if n < 0 {
				return -1
			}
			i += n
		case strings.HasPrefix(s[i:], "/*"):
			n := strings.Index(s[i+2:], "*/")
			if n < 0 {
				return -1
			}
			i += n + 3
		}
		i++
	}
	return -1
}
