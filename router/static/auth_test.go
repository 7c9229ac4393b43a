package static_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/static"
	"junction/state/document"
)

// auth puts lines of one credential, from line 6 on, into a file.
func auth(lines string) string {
	return server("url: https://h/mcp\nauth:\n  -\n" + indent(lines, 4))
}

func TestCredentialsOfAServerInTheOrderWritten(t *testing.T) {
	c := parse(t, server(`
url: https://h/mcp
auth:
  - {scheme: Bearer, token: "${TOKEN}"}
  - {scheme: API-Key, header: X-Key, token_file: run/key}
  - scheme: oauth
    oauth: {issuer: "https://auth.example/t", client_id: junction, client_secret: "${SECRET}", scopes: [read, "a:b"]}
  - {scheme: mcp-jwt, token_file: /run/jwt}
  - scheme: oauth
    oauth: {client_id: junction, key_file: key.pem}
`), map[string]string{"TOKEN": "t0ken", "SECRET": "s3cret"})
	want := []router.Credential{
		{Scheme: "bearer", Token: "t0ken"},
		{Scheme: "api-key", Header: "X-Key", File: "/etc/junction/run/key"},
		{Scheme: "oauth", OAuth: &router.OAuthClient{Issuer: "https://auth.example/t", ClientID: "junction", ClientSecret: "s3cret", Scopes: []string{"read", "a:b"}}},
		{Scheme: "mcp-jwt", File: "/run/jwt"},
		{Scheme: "oauth", OAuth: &router.OAuthClient{ClientID: "junction", KeyFile: "/etc/junction/key.pem"}},
	}
	if diff := cmp.Diff(want, c.Servers[0].Dial.Auth); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsOfCredentialsNamePlaceAndRemedy(t *testing.T) {
	const secret = "client_secret: s3cret"
	for _, c := range []struct{ name, text, want string }{
		{"misspelt key", auth("scheme: bearer\ntokn: x"), `7:9: unknown key "tokn" (did you mean "token"?)`},
		{"misspelt section", server("url: https://h\nauht: []"), `4:5: unknown key "auht" (did you mean "auth"?)`},
		{"no scheme", auth("token: x"), `6:9: the key "scheme" is missing`},
		{"unknown scheme", auth("scheme: Baerer\ntoken: x"), `6:17: this is none of the schemes bearer, api-key, mcp-jwt, oauth (did you mean "bearer"?)`},
		{"empty scheme", auth("scheme: \"\"\ntoken: x"), "6:17: text that is not empty is expected here"},
		{"nothing to show", auth("scheme: bearer"), "6:9: there is nothing to show: scheme bearer needs a token (add token: ${…} or token_file: …)"},
		{"two tokens", auth("scheme: bearer\ntoken: x\ntoken_file: y"), "8:21: the token stands here or in a file, not both (remove one of them)"},
		{"line break in the token", auth("scheme: bearer\ntoken: \"x\\n\""), "7:16: the token holds a line break"},
		{"unset token", auth("scheme: bearer\ntoken: ${NOPE}"), "7:16: environment variable NOPE is not set"},
		{"empty token", auth("scheme: bearer\ntoken: ${NOPE:-}"), "7:16: text that is not empty is expected here"},
		{"a header of the protocol's", auth("scheme: api-key\nheader: mcp-session-id\ntoken: x"), "7:17: the header mcp-session-id is set for each request by itself"},
		{"bad header name", auth("scheme: api-key\nheader: a b\ntoken: x"), `7:17: "a b" cannot be the name of a header`},
		{"oauth for another scheme", auth("scheme: bearer\noauth: {client_id: a, " + secret + "}"), "7:16: oauth means nothing for scheme bearer (write scheme: oauth, or remove it)"},
		{"oauth with a token", auth("scheme: oauth\ntoken: x\noauth: {client_id: a, " + secret + "}"), "7:16: the tokens of oauth are obtained"},
		{"oauth without a client", auth("scheme: oauth"), "6:9: scheme oauth needs to know how tokens are obtained (add oauth: {client_id: …"},
		{"oauth without an id", auth("scheme: oauth\noauth: {" + secret + "}"), `7:16: the key "client_id" is missing`},
		{"oauth without a proof", auth("scheme: oauth\noauth: {client_id: a}"), "7:16: nothing proves to the issuer who the client is (add client_secret: ${…}"},
		{"oauth with two proofs", auth("scheme: oauth\noauth:\n  client_id: a\n  " + secret + "\n  key_file: k"), "10:21: a client shows its secret or proves its key, not both"},
		{"misspelt oauth key", auth("scheme: oauth\noauth: {client: a, client_id: a, " + secret + "}"), `7:17: unknown key "client" (did you mean "client_id"?)`},
		{"issuer in the clear", auth("scheme: oauth\noauth: {client_id: a, " + secret + ", issuer: \"http://auth.example\"}"), "the client's secret would go to the issuer in the clear"},
		{"issuer that is none", auth("scheme: oauth\noauth: {client_id: a, " + secret + ", issuer: auth.example}"), "this is no URL with a host (such as https://auth.example)"},
		{"issuer with a secret", auth("scheme: oauth\noauth: {client_id: a, " + secret + ", issuer: \"https://u:p@auth.example\"}"), "the issuer is a scheme, a host and a path"},
		{"scopes in one", auth("scheme: oauth\noauth: {client_id: a, " + secret + ", scopes: [read write]}"), "a scope has no spaces, quotes or characters beyond ASCII (write several as a list)"},
		{"one header twice", server("url: https://h\nheaders: {authorization: x}\nauth: [{scheme: bearer, token: x}]"), "5:12: the header authorization is set under headers too"},
		{"auth of a command", server("command: x\nauth: [{scheme: bearer, token: x}]"), "4:5: auth means nothing for a server with a command"},
		{"no list", server("url: https://h\nauth: {scheme: bearer, token: x}"), "4:11: a list is expected here, not a mapping"},
		{"for anybody", service("auth: [{scheme: bearer, token: x}]"), "5:13: auth would go to whoever registers under this name (add addresses: [10.0.0.0/8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := static.Parse("/etc/j.yaml", []byte(c.text), options(nil))
			var fs document.Faults
			if !errors.As(err, &fs) {
				t.Fatalf("Parse = %v, want faults", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("faults:\n%v\nwant one with\n%s", err, c.want)
			}
			if len(fs) != 1 {
				t.Errorf("%d faults for one mistake:\n%v", len(fs), err)
			}
		})
	}
}

func TestNoSecretOfACredentialIsInAFaultOrAString(t *testing.T) {
	env := map[string]string{"SECRET": "hunter2", "LINES": "hunter2\nx"}
	for _, text := range []string{
		`{scheme: "${SECRET}", token: x}`,
		`{scheme: bearer, token: "${LINES}"}`,
		`{scheme: bearer, token: "${SECRET}", token_file: "${SECRET}"}`,
		`{scheme: oauth, oauth: {client_id: a, client_secret: "${LINES}"}}`,
		`{scheme: oauth, oauth: {client_id: a, client_secret: x, issuer: "https://${SECRET}@h"}}`,
		`{scheme: oauth, oauth: {client_id: a, client_secret: x, scopes: ["${SECRET} x"]}}`,
		`{scheme: bearer, token: !hunter2 x}`,
		`{scheme: bearer, token: *hunter2}`,
	} {
		for _, file := range []string{
			"mcpServers: {s: {url: \"https://h\", auth: [" + text + "]}}",
			"discovery: {consul: \"http://h\", services: {s: {server_name: s, auth: [" + text + "]}}}",
		} {
			if _, err := static.Parse("j.yaml", []byte(file), options(env)); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s\ngives %v", file, err)
			}
		}
	}
}

func TestAServerWithOtherCredentialsIsAnotherDeclaration(t *testing.T) {
	const text = "mcpServers: {s: {url: \"https://h\", auth: [{scheme: bearer, token: TOKEN}]}, other: {command: x}}\n"
	f := newFile(t, strings.Replace(text, "TOKEN", "a", 1))
	d := f.discovery()
	before := d.Snapshot()
	f.write(strings.Replace(text, "TOKEN", "b", 1))
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := d.Snapshot()
	if after.Servers[1] == before.Servers[1] || after.Servers[1].Dial.Auth[0].Token != "b" {
		t.Error("the new credential was not taken")
	}
	if after.Servers[0] != before.Servers[0] {
		t.Error("a server that did not change is another one")
	}
}

func TestTenantsOfOneURLHaveLedgersOfTheirOwn(t *testing.T) {
	const offer = "auth: [{scheme: bearer, token: x}], offers: [{capability: c, tool: t, effect: conditional, key: id}]"
	c := parse(t, "mcpServers: {a: {url: \"https://h/mcp\", "+offer+"}, b: {url: \"https://h/mcp\", "+offer+"}}", nil)
	if a, b := c.Servers[0].Offers[0].Ledger.Name, c.Servers[1].Offers[0].Ledger.Name; a == b {
		t.Errorf("both have the ledger %s", a)
	}
}

func TestCredentialsOfAServiceAreBoundToAPlace(t *testing.T) {
	c := parse(t, service("auth: [{scheme: bearer, token: x}]\nserver_name: reviewer.internal"), nil)
	if s := c.Consul.Services["s"]; len(s.Auth) != 1 || s.Auth[0].Token != "x" {
		t.Errorf("%d credentials", len(s.Auth))
	}
}
