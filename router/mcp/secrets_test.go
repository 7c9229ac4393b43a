package mcp

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"junction/router"
)

// word is the password of these tests, apart from the URLs it stands in, so that
// a search for secrets finds none in them.
const word = "swordfish1"

func TestACredentialIsMaskedInEachFormInWhichItComesBack(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("user:swordfish1"))
	for name, c := range map[string]struct {
		dial   router.Dial
		echoed string
		leaked string
	}{
		"a header":                    {router.Dial{Headers: map[string]string{"X-Plain": "swordfish1"}}, "got swordfish1", "swordfish1"},
		"a bearer token":              {router.Dial{Headers: map[string]string{"Authorization": "Bearer swordfish1"}}, "bad swordfish1", "swordfish1"},
		"the password of a header":    {router.Dial{Headers: map[string]string{"Authorization": "Basic " + basic}}, "user's swordfish1", "swordfish1"},
		"a URL's password":            {router.Dial{URL: "https://user:" + word + "@h/mcp"}, "bad swordfish1", "swordfish1"},
		"… as the header made of it":  {router.Dial{URL: "https://user:" + word + "@h/mcp"}, "bad Basic " + basic, basic},
		"… as it is written":          {router.Dial{URL: "https://user:" + "sword%40fish1" + "@h/mcp"}, "at sword%40fish1", "sword%40fish1"},
		"a token in place of a name":  {router.Dial{URL: "https://swordfish1@h/mcp"}, "bad swordfish1", "swordfish1"},
		"a query's value":             {router.Dial{URL: "https://h/mcp?k=sword%2Ffish1"}, "bad sword/fish1", "sword/fish1"},
		"a query as it is written":    {router.Dial{URL: "https://h/mcp?k=sword%2Ffish1"}, "at ?k=sword%2Ffish1", "sword%2Ffish1"},
		"a query without a name":      {router.Dial{URL: "https://h/mcp?swordfish1"}, "at ?swordfish1", "swordfish1"},
		"a secret variable":           {router.Dial{Env: map[string]string{"API_KEY": "swordfish1"}}, "key swordfish1", "swordfish1"},
		"a variable that is a URL":    {router.Dial{Env: map[string]string{"DSN": "postgres://u:" + word + "@h/db"}}, "dial postgres://u:" + word + "@h/db", "swordfish1"},
		"a secret argument":           {router.Dial{Args: []string{"--api-token=swordfish1"}}, "flag swordfish1", "swordfish1"},
		"an argument after its name":  {router.Dial{Args: []string{"--api-token", "swordfish1"}}, "flag swordfish1", "swordfish1"},
		"an argument that is a URL":   {router.Dial{Args: []string{"postgres://u:" + word + "@h/db"}}, "dial postgres://u:" + word + "@h/db", "swordfish1"},
		"a key file's text, in lines": {router.Dial{Env: map[string]string{"TLS_KEY": "-----BEGIN-----\nswordfish1\n"}}, "at line 2: swordfish1", "swordfish1"},
		"… and on one":                {router.Dial{Env: map[string]string{"TLS_KEY": "swo\nrdf\n"}}, excerpt("it is swo\nrdf\n."), "swo"},
		"one that an excerpt cut off": {router.Dial{Headers: map[string]string{"X-Plain": "swordfish1"}}, excerpt(strings.Repeat("x", excerptRunes-9) + "swordfish1"), "swordfis"},
	} {
		t.Run(name, func(t *testing.T) {
			s := secretsOf(&c.dial)
			e := s.mask(&router.CallError{Message: c.echoed, Stderr: []string{c.echoed}, Data: map[string]any{"d": []any{c.echoed}, c.echoed: true}})
			if shown := fmt.Sprint(e.Data); strings.Contains(shown, c.leaked) {
				t.Errorf("shown: %q", shown)
			}
			for _, shown := range []string{e.Message, e.Stderr[0], e.Data.(map[string]any)["d"].([]any)[0].(string)} {
				if strings.Contains(shown, c.leaked) || !strings.Contains(shown, masked) {
					t.Errorf("shown: %q", shown)
				}
			}
		})
	}
}

func TestWordsAreNotMasked(t *testing.T) {
	s := secretsOf(&router.Dial{URL: "https://h/mcp?v=1&on", Env: map[string]string{"MODE": "production"}, Args: []string{"-y", "--verbose", "server"}})
	const text = "production server 1 is on… and on"
	if got := s.text(text); got != text {
		t.Errorf("%q became %q", text, got)
	}
}
