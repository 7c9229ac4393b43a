package mcp

import (
	"net/http"
	"slices"
	"strings"
)

// headerSchemes lists the schemes that a server of this family takes, in an
// answer that refuses or in that to the handshake.
const headerSchemes = "X-Mcp-Auth-Schemes"

// Bounds of what is read of a server's demand.
const (
	maxDemand  = 16 << 10 // bytes of its headers
	maxSchemes = 16
)

// demand is what a server says it wants to be shown.
type demand struct {
	schemes      []string // as the server names them, in its order; nil: it does not say
	metadata     string   // URL of the protected resource's metadata; "": unsaid
	scope        string   // of a token, for this request; "": unsaid
	insufficient bool     // the token was good, and its scope too small
	anew         bool     // tokens of whoever issued the last one are refused
}

// challenge is one of WWW-Authenticate (RFC 9110, 11.6.1).
type challenge struct {
	scheme string
	params map[string]string // names in lower case
}

// demanded reads what an answer demands.
func demanded(h http.Header) demand {
	var d demand
	for _, c := range challenges(h.Values("Www-Authenticate")) {
		d.add(c.scheme)
		if d.metadata == "" {
			d.metadata = c.params["resource_metadata"]
		}
		if d.scope == "" {
			d.scope = c.params["scope"]
		}
		if strings.EqualFold(c.params["error"], "insufficient_scope") {
			d.insufficient = true
			if scope := c.params["scope"]; scope != "" {
				d.scope = scope
			}
		}
	}
	for _, line := range h.Values(headerSchemes) {
		for name := range strings.SplitSeq(line[:min(len(line), maxDemand)], ",") {
			d.add(strings.Trim(strings.TrimSpace(name), `"`))
		}
	}
	return d
}

func (d *demand) add(scheme string) {
	same := func(s string) bool { return schemeKind(s) == schemeKind(scheme) }
	if scheme != "" && len(d.schemes) < maxSchemes && !slices.ContainsFunc(d.schemes, same) {
		d.schemes = append(d.schemes, scheme)
	}
}

// takes reports whether a credential of a kind is one that the server wants. One
// that says nothing may want any. An OAuth token is shown as a bearer's.
func (d *demand) takes(kind string) bool {
	return d.schemes == nil || slices.ContainsFunc(d.schemes, func(s string) bool {
		return schemeKind(s) == kind || kind == kindOAuth && schemeKind(s) == kindBearer
	})
}

// spelling is the server's own of a kind, else ours.
func (d *demand) spelling(kind, ours string) string {
	for _, s := range d.schemes {
		if schemeKind(s) == kind && headerName(s) {
			return s
		}
	}
	return ours
}

// optional reports whether the server takes requests without a credential too.
func (d *demand) optional() bool {
	return slices.ContainsFunc(d.schemes, func(s string) bool {
		k := schemeKind(s)
		return k == "none" || k == "anonymous"
	})
}

// The kinds of credentials.
const (
	kindBearer = "bearer"
	kindAPIKey = "api-key"
	kindJWT    = "mcp-jwt"
	kindOAuth  = "oauth"
)

// schemeKind is the one name of a scheme: case and the hyphen mean nothing.
func schemeKind(scheme string) string {
	k := strings.ToLower(strings.TrimSpace(scheme))
	switch strings.NewReplacer("-", "", "_", "").Replace(k) {
	case "apikey", "xapikey":
		return kindAPIKey
	case "mcpjwt":
		return kindJWT
	case "oauth", "oauth2", "oauth2.0":
		return kindOAuth
	}
	return k
}

// challenges reads the lines of a WWW-Authenticate header. A comma divides both
// challenges and their parameters, so what follows one is a parameter when an
// equals sign comes after its first word, and a scheme otherwise. What cannot be
// read ends the reading.
func challenges(lines []string) []challenge {
	var all []challenge
	for _, line := range lines {
		rest := line[:min(len(line), maxDemand)]
		for len(all) < maxSchemes {
			rest = strings.TrimLeft(rest, ", \t")
			var word string
			if word, rest = token(rest); word == "" {
				break
			}
			after := strings.TrimLeft(rest, " \t")
			if !strings.HasPrefix(after, "=") || len(all) == 0 {
				all = append(all, challenge{word, map[string]string{}})
				rest = token68(rest)
				continue
			}
			var value string
			var ok bool
			if value, rest, ok = parameter(strings.TrimLeft(after[1:], " \t")); !ok {
				break
			}
			name, params := strings.ToLower(word), all[len(all)-1].params
			if _, said := params[name]; !said {
				params[name] = value
			}
		}
	}
	return all
}

// token68 passes over a scheme's one value that is none of parameters, such as
// the data of Negotiate.
func token68(s string) string {
	data := strings.TrimLeft(s, " \t")
	end := strings.IndexAny(data, ", \t")
	if end < 0 {
		end = len(data)
	}
	bare := strings.TrimRight(data[:end], "=")
	if len(data) == len(s) || bare == "" || strings.ContainsAny(bare, `="`) {
		return s
	}
	if next := strings.TrimLeft(data[end:], " \t"); next != "" && next[0] != ',' {
		return s
	}
	return data[end:]
}

// token reads a word of RFC 9110, 5.6.2.
func token(s string) (word, rest string) {
	end := strings.IndexFunc(s, func(r rune) bool { return !tokenRune(r) })
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

func tokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

func headerName(s string) bool {
	word, rest := token(s)
	return word != "" && rest == ""
}

// parameter reads a value, quoted or not.
func parameter(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
