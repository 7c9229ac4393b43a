package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/state"
)

func TestEachSchemeIsShownInItsOwnWayAfterOneMoreExchange(t *testing.T) {
	for name, c := range map[string]struct {
		held          router.Credential
		challenge     []string
		header, value string
		scheme        string
	}{
		"bearer": {
			router.Credential{Scheme: "bearer", Token: "hunter2hunter2"}, []string{"WWW-Authenticate", `Bearer realm="x"`},
			"Authorization", "Bearer hunter2hunter2", "bearer"},
		"bearer in another case": {
			router.Credential{Scheme: "Bearer", Token: "hunter2hunter2"}, []string{"WWW-Authenticate", `BEARER`},
			"Authorization", "Bearer hunter2hunter2", "bearer"},
		"key": {
			router.Credential{Scheme: "api-key", Token: "hunter2hunter2"}, []string{"X-MCP-Auth-Schemes", "API-KEY, mcp-jwt"},
			"X-Api-Key", "hunter2hunter2", "api-key"},
		"key in a header of its own": {
			router.Credential{Scheme: "API_KEY", Header: "x-custom", Token: "hunter2hunter2"}, []string{"WWW-Authenticate", "ApiKey"},
			"X-Custom", "hunter2hunter2", "api-key"},
		"token of this family, spelt as the server does": {
			router.Credential{Scheme: "MCP-JWT", Token: "hunter2hunter2"}, []string{"WWW-Authenticate", `Basic realm="a, b", mcp-Jwt realm="c"`},
			"Authorization", "mcp-Jwt hunter2hunter2", "mcp-jwt"},
		"whatever is held, where the server says nothing": {
			router.Credential{Scheme: "mcp-jwt", Token: "hunter2hunter2"}, nil,
			"Authorization", "MCP-JWT hunter2hunter2", "mcp-jwt"},
	} {
		for _, modern := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/modern=%v", name, modern), func(t *testing.T) {
				g, s := newGate(t, modern, wants(c.header, c.value), c.challenge...)
				s.Dial.Auth = []router.Credential{c.held}
				cl := newSilent(t, "hunter2hunter2")
				if err := cl.try(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				requests, tools := g.counted()
				if requests != plainRequests(modern)+1 || tools != 1 {
					t.Errorf("%d requests, %d calls", requests, tools)
				}
				if d := cl.describe(t, s); d.Session.Scheme != c.scheme {
					t.Errorf("the session's scheme is %q", d.Session.Scheme)
				}
			})
		}
	}
}

func TestTheFirstCredentialThatTheServerTakesIsUsedAndOthersStayHome(t *testing.T) {
	g, s := newGate(t, true, wants("X-Api-Key", "hunter3hunter3"), "WWW-Authenticate", `Basic realm="Bearer, x", ApiKey realm="y"`)
	s.Dial.Auth = []router.Credential{
		{Scheme: "bearer", Token: "hunter2hunter2"},
		{Scheme: "api-key", Token: "hunter3hunter3"},
		{Scheme: "api-key", Token: "hunter4hunter4"},
	}
	c := newSilent(t, "hunter2hunter2", "hunter3hunter3", "hunter4hunter4")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if g.saw("Authorization", "Bearer hunter2hunter2") || g.saw("X-Api-Key", "hunter4hunter4") {
		t.Error("a credential was shown that was not asked for")
	}
}

func TestARefusedCredentialIsFollowedByTheNextInTheHandshake(t *testing.T) {
	g, s := newGate(t, false, wants("X-Api-Key", "hunter3hunter3"), "X-MCP-Auth-Schemes", "bearer,api-key")
	var both atomic.Bool
	g.now(func(h http.Header) bool {
		if h.Get("Authorization") != "" && h.Get("X-Api-Key") != "" {
			both.Store(true)
		}
		return h.Get("X-Api-Key") == "hunter3hunter3"
	})
	s.Dial.Auth = []router.Credential{
		{Scheme: "bearer", Token: "hunter2hunter2"},
		{Scheme: "api-key", Token: "hunter3hunter3"},
	}
	c := newSilent(t, "hunter2hunter2", "hunter3hunter3")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, tools := g.counted(); tools != 1 || both.Load() || !g.saw("Authorization", "Bearer hunter2hunter2") {
		t.Errorf("%d calls, two credentials at once: %v", tools, both.Load())
	}
}

func TestASchemeThatIsNotHeldIsFoundBeforeAnyCall(t *testing.T) {
	for name, c := range map[string]struct {
		refusal []string
		taken   string
	}{
		"unknown":           {[]string{"WWW-Authenticate", `DPoP algs="ES256", Negotiate abc==`}, "it takes DPoP, Negotiate"},
		"another":           {[]string{"X-MCP-Auth-Schemes", "mcp-jwt"}, "it takes mcp-jwt"},
		"with controls":     {[]string{"X-MCP-Auth-Schemes", "a\u202eb"}, "it takes ab"},
		"refused by value":  {[]string{"WWW-Authenticate", "Bearer"}, "bearer (refused)"},
		"saying nothing":    {nil, "it does not say which schemes it takes; held for it: bearer (refused), api-key (refused)"},
		"many of them":      {[]string{"X-MCP-Auth-Schemes", strings.Repeat("x,y,", 5000) + "bearer2"}, "it takes x, y;"},
		"of a quiet server": {[]string{"WWW-Authenticate", `"`}, "it does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := newGate(t, true, func(http.Header) bool { return false }, c.refusal...)
			s.Dial.Auth = []router.Credential{
				{Scheme: "bearer", Token: "hunter2hunter2"},
				{Scheme: "api-key", Token: "hunter3hunter3"},
			}
			cl := newSilent(t, "hunter2hunter2", "hunter3hunter3", "\u202e")
			for range 2 { // the second fails from memory
				e := callError(t, cl.try(t.Context(), s))
				if e.Code != router.AuthMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, c.taken) || !strings.Contains(e.Message, "api-key (") {
					t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
				}
			}
			if _, tools := g.counted(); tools > 0 {
				t.Errorf("%d calls", tools)
			}
		})
	}
}

func TestAServerThatSaysNothingIsAskedForItsMetadataOnce(t *testing.T) {
	g, s := newGate(t, true, wants("X-Api-Key", "hunter4hunter4"))
	s.Dial.Auth = []router.Credential{
		{Scheme: "bearer", Token: "hunter2hunter2"},
		{Scheme: "mcp-jwt", Token: "hunter3hunter3"},
		{Scheme: "api-key", Token: "hunter4hunter4"},
	}
	if err := newSilent(t, "hunter2hunter2", "hunter3hunter3", "hunter4hunter4").try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if requests, _ := g.counted(); requests != plainRequests(true)+3 || g.looks != 2 {
		t.Errorf("%d requests, and %d for metadata, at two places", requests, g.looks)
	}
}

func TestARefusalWhereNothingIsHeldNamesWhatTheServerTakes(t *testing.T) {
	g, s := newGate(t, true, func(http.Header) bool { return false }, "WWW-Authenticate", `Bearer realm="x"`, "X-MCP-Auth-Schemes", "api-key")
	e := callError(t, newSilent(t).try(t.Context(), s))
	if e.Code != router.AuthRequired || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "it takes Bearer, api-key") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
	if requests, tools := g.counted(); requests != 1 || tools > 0 {
		t.Errorf("%d requests, %d calls", requests, tools)
	}
}

func TestWhatTheHandshakeSaysOfSchemesCountsBeforeAnyCall(t *testing.T) {
	for _, c := range []struct {
		says, header string
		code         router.Code
	}{
		{"api-key", "X-Api-Key", ""},
		{"mcp-jwt", "", router.AuthMismatch},
		{"mcp-jwt, none", "", ""},
	} {
		h := &scripted{modern: true, call: func(w http.ResponseWriter, _ *http.Request, id string) { answer(w, id, fine) }}
		var shown atomic.Value
		shown.Store("")
		s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-MCP-Auth-Schemes", c.says)
			if r.Header.Get("Mcp-Method") == "tools/call" {
				for _, name := range []string{"Authorization", "X-Api-Key"} {
					if r.Header.Get(name) != "" {
						shown.Store(name)
					}
				}
			}
			h.ServeHTTP(w, r)
		}))
		s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}, {Scheme: "api-key", Token: "hunter3hunter3"}}
		err := newSilent(t, "hunter2hunter2", "hunter3hunter3").try(t.Context(), s)
		if c.code != "" {
			if e := callError(t, err); e.Code != c.code || !strings.Contains(e.Message, "it takes mcp-jwt") {
				t.Errorf("%s: %s %s", c.says, e.Code, e.Message)
			}
		} else if err != nil || shown.Load() != c.header {
			t.Errorf("%s: %v, shown in %q", c.says, err, shown.Load())
		}
	}
}

func TestACredentialRevokedInASessionOpensAnotherSessionWithTheNext(t *testing.T) {
	for _, modern := range []bool{true, false} {
		g, s := newGate(t, modern, wants("Authorization", "Bearer hunter2hunter2"), "X-MCP-Auth-Schemes", "bearer,api-key")
		s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}, {Scheme: "api-key", Token: "hunter3hunter3"}}
		c := newSilent(t, "hunter2hunter2", "hunter3hunter3")
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var mixed atomic.Bool
		g.now(func(h http.Header) bool {
			if handshakes, _, _ := g.scripted.saw(); handshakes < 2 && h.Get("Mcp-Session-Id") != "" && h.Get("X-Api-Key") != "" {
				mixed.Store(true)
			}
			return h.Get("X-Api-Key") == "hunter3hunter3"
		})
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		handshakes, _, _ := g.scripted.saw()
		if _, tools := g.counted(); tools != 2 || mixed.Load() || !modern && handshakes != 2 {
			t.Errorf("modern %v: %d calls, %d handshakes, one session under two credentials: %v", modern, tools, handshakes, mixed.Load())
		}
		if d := c.describe(t, s); d.Session.Scheme != "api-key" {
			t.Errorf("the session's scheme is %q", d.Session.Scheme)
		}
		// All are revoked: it ends, and costs no endless handshakes.
		g.now(func(http.Header) bool { return false })
		before, _ := g.counted()
		if e := callError(t, c.try(t.Context(), s)); e.Code != router.AuthMismatch || e.Execution != state.NotExecuted {
			t.Errorf("%s %s", e.Code, e.Message)
		}
		if after, tools := g.counted(); tools != 2 || after-before > 12 {
			t.Errorf("%d calls, %d requests to find out", tools, after-before)
		}
	}
}

func TestACredentialThatIsGoodForTheHandshakeOnlyIsLeftForTheNext(t *testing.T) {
	for _, modern := range []bool{true, false} {
		g, s := newGate(t, modern, func(h http.Header) bool {
			return h.Get("X-Api-Key") != "" || h.Get("Authorization") != "" && h.Get("Mcp-Name") == ""
		}, "X-MCP-Auth-Schemes", "bearer, api-key")
		taken := g.call
		g.call = func(w http.ResponseWriter, r *http.Request, id string) {
			if r.Header.Get("X-Api-Key") == "" {
				status(401, "", "X-MCP-Auth-Schemes", "bearer, api-key")(w, r, id)
				return
			}
			taken(w, r, id)
		}
		s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}, {Scheme: "api-key", Token: "hunter3hunter3"}}
		c := newSilent(t, "hunter2hunter2", "hunter3hunter3")
		for range 2 {
			if err := c.try(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if _, tools := g.counted(); tools != 2 {
			t.Errorf("modern %v: %d calls", modern, tools)
		}
	}
}

func TestATokenFileIsReadAnewWhenTheServerRefusesWhatWasInIt(t *testing.T) {
	g, s := newGate(t, false, wants("Authorization", "Bearer hunter2hunter2"), "WWW-Authenticate", "Bearer")
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hunter2hunter2\n")
	s.Dial.Auth = []router.Credential{{Scheme: "bearer", File: file}}
	c := newSilent(t, "hunter2hunter2", "hunter3hunter3")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	write("hunter3hunter3\n")
	g.now(wants("Authorization", "Bearer hunter3hunter3"))
	before, _ := g.counted()
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	handshakes, _, _ := g.scripted.saw()
	if after, tools := g.counted(); after-before != 2 || tools != 2 || handshakes != 1 {
		t.Errorf("%d requests, %d calls, %d handshakes", after-before, tools, handshakes)
	}
	g.now(wants("Authorization", "Bearer other"))
	for text, says := range map[string]string{"": "holds none", "a\nb": "more than one line"} {
		write(text)
		if e := callError(t, c.try(t.Context(), s)); e.Code != router.AuthMismatch {
			t.Errorf("%s %s, want %s", e.Code, e.Message, says)
		}
	}
}

func TestAGatewayThatForbidsRatherThanAsksIsShownACredential(t *testing.T) {
	g, s := newGate(t, true, nil)
	s.Dial.Auth = []router.Credential{{Scheme: "api-key", Token: "hunter2hunter2"}}
	inner := g.scripted
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "hunter2hunter2" {
			http.Error(w, "Missing Authentication Token", http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
	_, ts := raw(t, front)
	s.Dial.URL = ts.URL + "/mcp"
	c := newSilent(t, "hunter2hunter2")
	for range 2 {
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if _, tools := g.counted(); tools != 2 {
		t.Errorf("%d calls", tools)
	}
}

func TestARedirectCarriesNoCredentialToAnotherHost(t *testing.T) {
	var got atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.Add(1) }))
	defer other.Close()
	g, s := newGate(t, true, wants("Authorization", "Bearer hunter2hunter2"), "WWW-Authenticate", "Bearer")
	s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}}
	g.call = func(w http.ResponseWriter, r *http.Request, _ string) {
		http.Redirect(w, r, other.URL+"/mcp", http.StatusTemporaryRedirect)
	}
	if e := callError(t, newSilent(t, "hunter2hunter2").try(t.Context(), s)); e.Execution != state.NotExecuted || got.Load() > 0 {
		t.Errorf("%s %s, the other host was asked %d times", e.Code, e.Execution, got.Load())
	}
}
