package mcp

import (
	"cmp"
	"net/url"
	"slices"
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
func excerpt(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > excerptRunes {
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

// secrets masks a server's credentials in text that comes from it: a server
// may repeat a token that it refuses.
type secrets struct{ replace *strings.Replacer }

// minSecret is the shortest text worth masking; shorter ones would mask words.
const minSecret = 6

func secretsOf(d *router.Dial) secrets {
	var values []string
	add := func(v string) {
		if len(v) >= minSecret {
			values = append(values, v)
		}
	}
	for _, v := range d.Headers {
		add(v)
		if _, token, ok := strings.Cut(v, " "); ok {
			add(token)
		}
	}
	for k, v := range d.Env {
		if secretName(k) {
			add(v)
		}
	}
	if u, err := url.Parse(d.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			add(password)
		}
		for _, vs := range u.Query() {
			for _, v := range vs {
				add(v)
			}
		}
	}
	// The longest first: one value may begin with another.
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, v := range slices.Compact(values) {
		pairs = append(pairs, v, "[masked]")
	}
	return secrets{strings.NewReplacer(pairs...)}
}

// sessionSecret masks the wire's session id, which is a credential.
func sessionSecret(id string) secrets {
	if len(id) < minSecret {
		return secrets{strings.NewReplacer()}
	}
	return secrets{strings.NewReplacer(id, "[masked]")}
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "COOKIE"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// credentials reports whether d holds any, so that a 401 can be told apart.
func credentials(d *router.Dial) bool {
	for k := range d.Headers {
		if secretName(k) {
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

// mask removes credentials from what e shows.
func (s secrets) mask(e *router.CallError) *router.CallError {
	v := *e
	v.Message = s.replace.Replace(e.Message)
	v.Data = s.value(e.Data)
	v.Stderr = make([]string, 0, len(e.Stderr))
	for _, line := range e.Stderr {
		v.Stderr = append(v.Stderr, s.replace.Replace(line))
	}
	if len(v.Stderr) == 0 {
		v.Stderr = nil
	}
	return &v
}

func (s secrets) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.replace.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = s.value(v[k])
		}
		return out
	}
	return v
}
