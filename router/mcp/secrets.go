package mcp

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"junction/router"
)

// secrets masks a server's credentials in text that comes from it: a server
// may repeat a token that it refuses.
type secrets struct{ *vault }

// vault is what is masked, which grows: tokens are obtained on the way.
type vault struct {
	now atomic.Pointer[mask]

	mu     sync.Mutex
	fixed  []string // what the configuration holds
	learnt []string // tokens obtained since, newest last
}

// mask is what is masked at one time. It is never changed.
type mask struct {
	values  []string // longest first: one may begin with another
	replace *strings.Replacer
}

const (
	// minSecret is the shortest text worth masking; shorter ones would mask words.
	minSecret = 6
	masked    = "[masked]"
	// maxLearnt is how many obtained tokens are remembered: a server may repeat
	// one that was replaced in the meantime.
	maxLearnt = 16
)

func masking(values []string) secrets {
	s := secrets{&vault{fixed: slices.Clone(values)}}
	s.now.Store(maskOf(values))
	return s
}

// learn masks another value from here on.
func (s *vault) learn(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.learnt, v) {
		return
	}
	if s.learnt = append(s.learnt, v); len(s.learnt) > maxLearnt {
		s.learnt = slices.Delete(s.learnt, 0, 1)
	}
	s.now.Store(maskOf(slices.Concat(s.fixed, s.learnt)))
}

// secretsBehind are those of a link's server, tokens obtained meanwhile included.
func secretsBehind(l link, d *router.Dial) secrets {
	if h, ok := l.(*httpLink); ok {
		return h.hop.secrets
	}
	return secretsOf(d)
}

// maskOf changes values.
func maskOf(values []string) *mask {
	for _, v := range values {
		if strings.ContainsAny(v, "\r\n") { // a key file's text comes back in lines, or as one
			values = append(values, legible(v, len(v)))
			values = append(values, strings.FieldsFunc(v, func(r rune) bool { return r == '\r' || r == '\n' })...)
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < minSecret })
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	values = slices.Compact(values)
	var pairs []string
	for _, v := range values {
		pairs = append(pairs, v, masked)
	}
	return &mask{values, strings.NewReplacer(pairs...)}
}

// secretsOf gathers what a server is given in confidence, in each form in which
// it may come back.
func secretsOf(d *router.Dial) secrets {
	var all []string
	for _, v := range d.Headers {
		all = append(all, v)
		scheme, token, ok := strings.Cut(v, " ")
		if !ok {
			continue
		}
		all = append(all, token)
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "Basic") {
			_, password, _ := strings.Cut(string(plain), ":")
			all = append(all, string(plain), password)
		}
	}
	for k, v := range d.Env {
		if SecretName(k) {
			all = append(all, v)
		} else {
			all = append(all, urlSecrets(v)...) // such as a database's address
		}
	}
	for _, c := range d.Auth {
		all = append(all, c.Token)
		if c.OAuth != nil {
			all = append(all, c.OAuth.ClientSecret, url.QueryEscape(c.OAuth.ClientSecret),
				base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.OAuth.ClientID)+":"+url.QueryEscape(c.OAuth.ClientSecret))))
		}
	}
	all = append(all, argSecrets(d.Args)...)
	return masking(append(all, urlSecrets(d.URL)...))
}

// urlSecrets are userinfo and query of a URL, as written and as meant. A name
// without a value is a token of its own.
func urlSecrets(raw string) []string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return nil
	}
	var all []string
	if u.User != nil {
		name := u.User.Username()
		password, both := u.User.Password()
		all = append(all, u.User.String(), password, url.QueryEscape(password), url.PathEscape(password),
			base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
		if !both {
			all = append(all, name)
		}
		if _, written, ok := strings.Cut(u.User.String(), ":"); ok {
			all = append(all, written)
		}
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, v, named := strings.Cut(pair, "=")
		if !named {
			v = name
		}
		all = append(all, v)
		if plain, err := url.QueryUnescape(v); err == nil {
			all = append(all, plain)
		}
	}
	return all
}

// argSecrets are the values of arguments whose names say that they are secret:
// --token=VALUE and --token VALUE.
func argSecrets(args []string) []string {
	var all []string
	for i, arg := range args {
		name, v, joined := strings.Cut(arg, "=")
		switch {
		case joined && SecretName(name):
			all = append(all, v)
		case !joined && strings.HasPrefix(arg, "-") && SecretName(arg) && i+1 < len(args):
			all = append(all, args[i+1])
		default:
			all = append(all, urlSecrets(arg)...)
		}
	}
	return all
}

// sessionSecret masks the wire's session id, which is a credential.
func sessionSecret(id string) secrets { return masking([]string{id}) }

// SecretName reports whether what has such a name, a header or a variable, holds a
// credential.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "COOKIE"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// mask removes credentials from what e shows.
func (s secrets) mask(e *router.CallError) *router.CallError {
	v := *e
	v.Message = s.text(e.Message)
	v.Data = s.value(e.Data)
	v.Stderr = make([]string, 0, len(e.Stderr))
	for _, line := range e.Stderr {
		v.Stderr = append(v.Stderr, s.text(line))
	}
	if len(v.Stderr) == 0 {
		v.Stderr = nil
	}
	return &v
}

// whole masks whole credentials.
func (s secrets) whole(t string) string { return s.now.Load().replace.Replace(t) }

// text masks whole credentials, and the beginning of one where an excerpt ended
// in its middle.
func (s secrets) text(t string) string {
	m := s.now.Load()
	t = m.replace.Replace(t)
	const end = "…"
	var b strings.Builder
	for {
		before, after, found := strings.Cut(t, end)
		if found {
			before = m.untail(before)
		}
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(end)
		t = after
	}
}

// untail masks the longest end of t that begins a credential, if it is longer
// than chance explains.
func (m *mask) untail(t string) string {
	const least = 4
	longest := 0
	for _, v := range m.values {
		for n := min(len(v)-1, len(t)); n >= least && n > longest; n-- {
			if strings.HasSuffix(t, v[:n]) && (n == len(v) || utf8.RuneStart(v[n])) {
				longest = n
				break
			}
		}
	}
	if longest == 0 {
		return t
	}
	return t[:len(t)-longest] + masked
}

func (s secrets) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = s.value(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[s.text(k)] = s.value(v[k])
		}
		return out
	}
	return v
}
