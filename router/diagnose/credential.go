package diagnose

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"junction/router/mcp"
)

// holding is a credential of the servers file. Its token never leaves this package.
type holding struct {
	kind   string // bearer, api-key, mcp-jwt, oauth; of a header: the scheme, or the header's name
	where  string // for people
	token  string // "": obtained elsewhere
	header string
	fixed  bool // sent with every request, asked for or not
}

// held are the credentials that the server's Dial has, in its order.
func (p *patient) held() []holding {
	d := &p.server.Dial
	var all []holding
	for _, c := range d.Auth {
		h := holding{kind: mcp.SchemeKind(c.Scheme), where: "auth", token: c.Token, header: cmp.Or(c.Header, "Authorization")}
		if c.File != "" {
			h.token = mcp.TokenIn(c.File)
		}
		all = append(all, h)
	}
	var headers []string
	for name := range d.Headers {
		headers = append(headers, name)
	}
	slices.Sort(headers)
	for _, name := range headers {
		v := d.Headers[name]
		scheme, token, two := strings.Cut(v, " ")
		switch {
		case strings.EqualFold(name, "Authorization") && two:
			all = append(all, holding{kind: mcp.SchemeKind(scheme), where: "headers", token: token, header: "Authorization", fixed: true})
		case strings.EqualFold(name, "Authorization"):
			all = append(all, holding{kind: "a token without a scheme", where: "headers", token: v, header: "Authorization", fixed: true})
		case mcp.SecretName(name):
			kind := clean(name)
			if mcp.SchemeKind(name) == "api-key" {
				kind = "api-key"
			}
			all = append(all, holding{kind: kind, where: "headers", token: v, header: name, fixed: true})
		}
	}
	if p.url != nil && p.url.User != nil {
		all = append(all, holding{kind: "basic", where: "url", header: "Authorization", fixed: true})
	}
	return all
}

// kinds are those of credentials, for people.
func kinds(all []holding) string {
	var names []string
	for _, h := range all {
		names = append(names, h.kind+" (under "+h.where+")")
	}
	return strings.Join(names, ", ")
}

// validity are the times that a JWT says of itself; ok is false for other tokens.
// Its signature is the server's to judge.
func validity(token string) (from, to time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return from, to, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return from, to, false
	}
	var claims struct {
		From json.Number `json:"nbf"`
		To   json.Number `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return from, to, false
	}
	return second(claims.From), second(claims.To), true
}

// second is a time of a JWT; zero: it says none that could be.
func second(said json.Number) time.Time {
	const latest = 1e11 // in the year 5138
	n, err := said.Float64()
	if err != nil || n <= 0 || n > latest {
		return time.Time{}
	}
	return time.Unix(int64(n), 0)
}
