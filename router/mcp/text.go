package mcp

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"junction/router"
)

// excerptRunes bounds what of a server's text enters a message.
const excerptRunes = 300

// quote writes a name for a message, without control characters.
func quote(s string) string { return strconv.Quote(excerpt(s)) }

// excerpt is s for people: one line, no control characters, of bounded length.
// Text from servers may otherwise drive a terminal.
func excerpt(s string) string { return legible(s, excerptRunes) }

// legible is an excerpt of at most that many runes.
func legible(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar:
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// credentials reports whether d holds any, so that a 401 can be told apart.
func credentials(d *router.Dial) bool {
	for k := range d.Headers {
		if SecretName(k) {
			return true
		}
	}
	u, err := url.Parse(d.URL)
	return err == nil && u.User != nil
}

// scheme is the name of the authentication scheme in use, "" for none.
func scheme(d *router.Dial) string {
	for k, v := range d.Headers {
		if strings.EqualFold(k, "Authorization") {
			name, _, _ := strings.Cut(v, " ")
			return name
		}
	}
	if credentials(d) {
		return "custom"
	}
	return ""
}
