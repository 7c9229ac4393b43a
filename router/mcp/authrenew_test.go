package mcp_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestFiftyCallsWithATokenThatEndedAskForOneNewToken(t *testing.T) {
	for _, modern := range []bool{true, false} {
		i := newIssuing(t)
		g, s := newGate(t, modern, i.honours, "WWW-Authenticate", "Bearer")
		s.Dial.Auth = ourClient(i.url)
		c := newSilent(t, "hunter2", "hunter-token")
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		i.revoke()
		i.mu.Lock()
		i.gate = make(chan struct{}) // the new token takes its time
		i.mu.Unlock()
		before, _ := g.counted()
		var calls sync.WaitGroup
		const many = 50
		for range many {
			calls.Go(func() {
				if err := c.try(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "refusals", func() bool { n, _ := g.counted(); return n-before == many })
		close(i.gate)
		calls.Wait()
		if _, tools := g.counted(); tools != many+1 || i.requests() != 2 {
			t.Errorf("modern %v: %d calls, %d tokens", modern, tools, i.requests())
		}
	}
}

func TestACallDoesNotWaitForATokenBeyondItsTime(t *testing.T) {
	i := newIssuing(t)
	g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
	s.Dial.Auth = ourClient(i.url)
	c := newSilent(t, "hunter")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	i.revoke()
	slow := make(chan struct{})
	i.mu.Lock()
	i.gate = slow
	i.mu.Unlock()
	begun := time.Now()
	_, err := c.Call(t.Context(), s, router.ToolCall{Tool: "echo", Max: 100 * time.Millisecond})
	if e := callError(t, err); e.Code != router.Timeout || e.Execution != state.NotExecuted || e.Clock != "maximum" {
		t.Errorf("%s %s %s: %s", e.Code, e.Execution, e.Clock, e.Message)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("after %v", took)
	}
	close(slow)
	eventually(t, "the token for the next", func() bool { return c.try(t.Context(), s) == nil })
	if _, tools := g.counted(); tools != 2 || i.requests() != 2 {
		t.Errorf("%d calls, %d tokens", tools, i.requests())
	}
}

func TestATokenThatEndedWhileItsIssuerIsDownIsAnOutageOfTheServer(t *testing.T) {
	t.Parallel()
	i := newIssuing(t)
	i.answer = `{"access_token":"$TOKEN","token_type":"Bearer","expires_in":1}`
	g, s := newGate(t, false, i.honours, "WWW-Authenticate", "Bearer")
	s.Dial.Auth = ourClient(i.url)
	c := newSilent(t, "hunter")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	i.down(503)
	var err error
	eventually(t, "the token's end", func() bool { err = c.try(t.Context(), s); return err != nil })
	if e := callError(t, err); e.Code != router.Transport || e.Execution != state.NotExecuted || !strings.Contains(e.Message, "no token was obtained") {
		t.Errorf("%s %s %s", e.Code, e.Execution, e.Message)
	}
	_, before := g.counted()
	if err := c.try(t.Context(), s); err == nil {
		t.Error("a call without a token")
	}
	if _, after := g.counted(); after != before {
		t.Error("a call reached the tool without a token")
	}
	i.down(0)
	eventually(t, "recovery", func() bool { return c.try(t.Context(), s) == nil })
}

func TestATokenWithTooLittleScopeIsExchangedOnce(t *testing.T) {
	i := newIssuing(t)
	g, s := newGate(t, false, i.honours, "WWW-Authenticate", `Bearer scope="read"`)
	g.call = func(w http.ResponseWriter, r *http.Request, id string) {
		i.mu.Lock()
		scope := i.good[r.Header.Get("Authorization")]
		i.mu.Unlock()
		if !slices.Contains(strings.Fields(scope), "write") {
			status(403, "", "WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)(w, r, id)
			return
		}
		answer(w, id, fine)
	}
	s.Dial.Auth = ourClient(i.url)
	c := newSilent(t, "hunter")
	for range 3 {
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(i.scopes, ", "); got != "read, read write" {
		t.Errorf("scopes asked for: %s", got)
	}
	// The next server's scope is refused; the token at hand stays, and the issuer is
	// not asked with every call.
	i2 := newIssuing(t)
	g2, s2 := newGate(t, false, i2.honours, "WWW-Authenticate", `Bearer scope="read"`)
	s2.ID = "other"
	g2.call = func(w http.ResponseWriter, r *http.Request, id string) {
		i2.mu.Lock()
		i2.status = 400
		i2.mu.Unlock()
		status(403, "", "WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)(w, r, id)
	}
	s2.Dial.Auth = ourClient(i2.url)
	for range 10 {
		if e := callError(t, c.try(t.Context(), s2)); e.Code != router.AuthMismatch || e.Execution != state.NotExecuted {
			t.Errorf("%s %s", e.Code, e.Message)
		}
	}
	if n := i2.requests(); n < 2 || n > 6 {
		t.Errorf("%d token requests for ten calls", n)
	}
}

func TestTokensThatAreRefusedWhenNewAreNotAskedForWithEveryCall(t *testing.T) {
	i := newIssuing(t)
	g, s := newGate(t, true, i.honours, "WWW-Authenticate", "Bearer")
	s.Dial.Auth = ourClient(i.url)
	c := newSilent(t, "hunter")
	if err := c.try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	g.now(func(http.Header) bool { return false })
	for range 20 {
		if e := callError(t, c.try(t.Context(), s)); e.Code != router.AuthMismatch {
			t.Errorf("%s %s", e.Code, e.Message)
		}
	}
	if n := i.requests(); n > 8 {
		t.Errorf("%d token requests for twenty calls", n)
	}
	g.now(i.honours)
	eventually(t, "recovery", func() bool { return c.try(t.Context(), s) == nil })
}

func TestAServerWithOtherCredentialsIsAnotherConnection(t *testing.T) {
	g, s := newGate(t, true, wants("Authorization", "Bearer hunter2hunter2", "Bearer hunter3hunter3"), "WWW-Authenticate", "Bearer")
	s.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}}
	c := newSilent(t, "hunter2hunter2", "hunter3hunter3")
	changed := *s
	changed.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter3hunter3"}}
	for _, s := range []*router.Server{s, &changed} {
		if err := c.try(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if !g.saw("Authorization", "Bearer hunter3hunter3") {
		t.Error("the new credential was not shown")
	}
}
