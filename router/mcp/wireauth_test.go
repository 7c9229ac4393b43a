package mcp_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// A wire shows the credentials of its server as a hop does, on each kind of request.
func TestAWireShowsWhatIsHeldForItsServer(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{true, false} {
		script := newWireScript(modern)
		var refuse atomic.Bool
		s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer hunter2hunter2" || refuse.Load() {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "no entry with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			script.ServeHTTP(w, r)
		}))
		if _, e := newClient(t, nil).Open(t.Context(), s, mcp.Greeting{}, mcp.Events{}); e == nil || e.Code != router.AuthRequired || e.Execution != state.NotExecuted {
			t.Errorf("nothing held: %v", e)
		}
		bare := *s
		bare.Dial.Auth = []router.Credential{{Scheme: "bearer", Token: "hunter2hunter2"}}
		w := open(t, newClient(t, nil), &bare, mcp.Greeting{}, mcp.Events{})
		if r := ask(t, w, mcp.Request{Method: "x/exact"}); string(r.Result) != exactResult {
			t.Errorf("%s", r.Result)
		}
		if err := w.Notify(t.Context(), mcp.Notification{Method: "notifications/a"}); err != nil {
			t.Error(err)
		}
		if !modern {
			receive(t, script.standing)
		}
		refuse.Store(true)
		_, e := w.Do(t.Context(), &mcp.Request{Method: "x/exact"})
		if e == nil || e.Code != router.AuthMismatch || e.Execution != state.NotExecuted || strings.Contains(e.Error(), "hunter2") {
			t.Errorf("refused: %v", e)
		}
		err := w.Notify(t.Context(), mcp.Notification{Method: "notifications/a"})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("refused: %v", err)
		}
	}
}
