package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestChallengesAreReadAsServersWriteThem(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"one without parameters":          {[]string{`Bearer`}, "[{Bearer map[]}]"},
		"quoted and bare values":          {[]string{`Bearer realm="a, b", error=invalid_token`}, "[{Bearer map[error:invalid_token realm:a, b]}]"},
		"an escaped quote":                {[]string{`Bearer realm="say \"x\", y=\\z"`}, `[{Bearer map[realm:say "x", y=\z]}]`},
		"two in one header":               {[]string{`Basic realm="x", Bearer scope="a b", resource_metadata="https://h/m"`}, "[{Basic map[realm:x]} {Bearer map[resource_metadata:https://h/m scope:a b]}]"},
		"two without parameters":          {[]string{`Bearer, mcp-jwt`}, "[{Bearer map[]} {mcp-jwt map[]}]"},
		"one that carries data":           {[]string{`Negotiate YWJj+/==, Bearer`}, "[{Negotiate map[]} {Bearer map[]}]"},
		"spaces about the equals sign":    {[]string{`Bearer realm = "x" , scope = a`}, "[{Bearer map[realm:x scope:a]}]"},
		"names of parameters in any case": {[]string{`BEARER Resource_Metadata="u"`}, "[{BEARER map[resource_metadata:u]}]"},
		"two headers":                     {[]string{`Basic realm="x"`, `ApiKey`}, "[{Basic map[realm:x]} {ApiKey map[]}]"},
		"empty elements":                  {[]string{` , ,Bearer,, Basic`}, "[{Bearer map[]} {Basic map[]}]"},
		"a parameter named twice":         {[]string{`Bearer scope=a, scope=b`}, "[{Bearer map[scope:a]}]"},
		"a quote that does not end":       {[]string{`Bearer, X realm="x`}, "[{Bearer map[]} {X map[]}]"},
		"nothing":                         {[]string{``, `  `, `"`}, "[]"},
	} {
		if got := fmt.Sprint(challenges(c.lines)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSchemesAreComparedWithoutCase(t *testing.T) {
	d := demanded(http.Header{
		"Www-Authenticate": {`BEARER scope="read"`, `Custom`},
		headerSchemes:      {`MCP_JWT, "API-Key", bearer`},
	})
	if got := strings.Join(d.schemes, " "); got != "BEARER Custom MCP_JWT API-Key" {
		t.Errorf("schemes: %s", got)
	}
	for _, kind := range []string{kindBearer, kindJWT, kindAPIKey, kindOAuth} {
		if !d.takes(kind) {
			t.Errorf("%s does not fit", kind)
		}
	}
	if d.scope != "read" || d.takes("basic") || d.optional() {
		t.Errorf("%+v", d)
	}
	if only := demanded(http.Header{headerSchemes: {"oauth"}}); only.takes(kindBearer) || !only.takes(kindOAuth) {
		t.Error("a fixed token goes for an OAuth one")
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Basic realm="x", Bearer scope="a b"`)
	f.Add(`Negotiate YWJj==, =", \`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, c := range challenges([]string{line, line}) {
			if !headerName(c.scheme) {
				t.Errorf("%q gave the scheme %q", line, c.scheme)
			}
		}
	})
}
