package static

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"junction/router"
	"junction/state/document"
)

// schemes are the ways of showing a server who we are.
var schemes = []string{"bearer", "api-key", "mcp-jwt", "oauth"}

// credentials reads auth, a list in the order of preference. m is where headers
// stand beside it.
func (r *reader) credentials(m *document.Mapping) []router.Credential {
	var all []router.Credential
	for _, n := range m.Get("auth").List() {
		c := r.credential(n)
		all = append(all, c)
		for _, e := range m.Get("headers").Mapping().Entries() {
			if c.Scheme != "" && strings.EqualFold(e.Key, carrier(c)) {
				n.Fault("remove it from headers, which go with every request", "the header %s is set under headers too, so this credential is never what is asked for", e.Key)
			}
		}
	}
	return all
}

// carrier is the header that a credential goes in.
func carrier(c router.Credential) string {
	switch {
	case c.Header != "":
		return c.Header
	case c.Scheme == "api-key":
		return "X-API-Key"
	}
	return "Authorization"
}

func (r *reader) credential(n *document.Node) router.Credential {
	m := n.Mapping("scheme", "header", "token", "token_file", "oauth")
	if m == nil {
		return router.Credential{}
	}
	c := router.Credential{
		Scheme: r.scheme(m),
		Header: r.word(m.Get("header")),
		Token:  r.token(m.Get("token")),
		File:   r.file(r.word(m.Get("token_file"))),
		OAuth:  r.oauth(m.Get("oauth")),
	}
	if c.Header != "" {
		checkHeader(m.Get("header"), c.Header, "")
	}
	token, file, client := m.Get("token"), m.Get("token_file"), m.Get("oauth")
	switch {
	case c.Scheme == "": // a fault already
	case c.Scheme == "oauth":
		for _, has := range []*document.Node{token, file} {
			if has != nil {
				has.Fault("write scheme: bearer where the token is at hand, or remove it", "the tokens of oauth are obtained, by what stands under oauth:")
			}
		}
		if client == nil && !misspelt(m, "oauth") {
			n.Fault("add oauth: {client_id: …, client_secret: ${…}}", "scheme oauth needs to know how tokens are obtained")
		}
	case client != nil:
		client.Fault("write scheme: oauth, or remove it", "oauth means nothing for scheme %s", c.Scheme)
	case token != nil && file != nil:
		file.Fault("remove one of them", "the token stands here or in a file, not both")
	case token == nil && file == nil && !misspelt(m, "token") && !misspelt(m, "token_file"):
		n.Fault("add token: ${…} or token_file: …", "there is nothing to show: scheme %s needs a token", c.Scheme)
	}
	return c
}

// scheme is compared without case.
func (r *reader) scheme(m *document.Mapping) string {
	if misspelt(m, "scheme") {
		return ""
	}
	n := m.Require("scheme")
	text := r.word(n)
	s := strings.ToLower(text)
	if strings.TrimSpace(text) == "" || slices.Contains(schemes, s) {
		return s
	}
	n.Fault(document.Hint(s, schemes), "this is none of the schemes %s", strings.Join(schemes, ", "))
	return ""
}

// oauth reads how tokens are obtained; nil where nothing is said.
func (r *reader) oauth(n *document.Node) *router.OAuthClient {
	m := n.Mapping("issuer", "client_id", "client_secret", "key_file", "scopes")
	if m == nil {
		return nil
	}
	c := &router.OAuthClient{
		Issuer:       r.issuer(m.Get("issuer")),
		ClientSecret: r.token(m.Get("client_secret")),
		KeyFile:      r.file(r.word(m.Get("key_file"))),
	}
	if !misspelt(m, "client_id") {
		c.ClientID = r.word(m.Require("client_id"))
	}
	secret, key := m.Get("client_secret"), m.Get("key_file")
	switch {
	case secret != nil && key != nil:
		key.Fault("remove one of them", "a client shows its secret or proves its key, not both")
	case secret == nil && key == nil && !misspelt(m, "client_secret") && !misspelt(m, "key_file"):
		n.Fault("add client_secret: ${…}, or key_file: with its private key", "nothing proves to the issuer who the client is")
	}
	for _, s := range m.Get("scopes").List() {
		scope := r.word(s)
		if strings.ContainsFunc(scope, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
			s.Fault("write several as a list", "a scope has no spaces, quotes or characters beyond ASCII")
		}
		c.Scopes = append(c.Scopes, scope)
	}
	return c
}

// issuer checks where the client's secret will go, without quoting it.
func (r *reader) issuer(n *document.Node) string {
	const like = "such as https://auth.example"
	raw := r.word(n)
	if raw == "" || n.Kind != document.Text {
		return raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		n.Fault(like, "this is no URL with a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		n.Fault(like, "the issuer is a scheme, a host and a path: it is shown, and what stands here may be a credential")
	case u.Scheme != "https" && !(u.Scheme == "http" && local(u.Hostname())):
		n.Fault(like, "the client's secret would go to the issuer in the clear: it has to be https, or on this machine")
	}
	return raw
}

// local reports whether a host is this machine by its very name.
func local(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
