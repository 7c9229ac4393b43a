package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestARedirectThatIsNotFollowedSaysWhereToAndNoMore(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://user:pw@other.example:8443/mcp?token=hunter2#x": "HTTP status 307 Temporary Redirect to https://other.example:8443",
		"//other.example/":      "HTTP status 307 Temporary Redirect to http://other.example",
		"http://%zz":            "HTTP status 307 Temporary Redirect",
		"mailto:me@example.com": "HTTP status 307 Temporary Redirect",
	} {
		s, _ := raw(t, &scripted{modern: true, call: status(307, "", "Location", location)})
		_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); !strings.HasSuffix(e.Message, ": "+want) || e.Code != router.Transport || e.HTTPStatus != 307 {
			t.Errorf("%s: %d %s %s", location, e.HTTPStatus, e.Code, e.Message)
		}
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		if _, e := w.Do(t.Context(), &calling); e == nil || e.Message != want || e.Execution != state.NotExecuted {
			t.Errorf("%s, by a bridge: %v", location, e)
		}
	}
}

func TestACallThatIsLostWhereARedirectLedMayHaveBeenExecuted(t *testing.T) {
	t.Parallel()
	lost := func(w http.ResponseWriter, r *http.Request, id string) {
		if r.URL.Path == "/mcp" {
			status(307, "", "Location", "/moved")(w, r, id)
			return
		}
		cut("")(w, r, id)
	}
	for _, modern := range []bool{false, true} {
		s, _ := raw(t, &scripted{modern: modern, call: lost})
		_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
		if e := callError(t, err); e.Code != router.Transport || e.Execution != state.Unknown {
			t.Errorf("modern %v: %s %s %s", modern, e.Code, e.Execution, e.Message)
		}
		w := open(t, newClient(t, nil), s, mcp.Greeting{}, mcp.Events{})
		if _, e := w.Do(t.Context(), &calling); e == nil || e.Code != router.Transport || e.Execution != state.Unknown {
			t.Errorf("modern %v, by a bridge: %v", modern, e)
		}
	}
}

func TestARedirectOnTheSameOriginIsFollowed(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		s, _ := raw(t, &scripted{modern: modern, call: func(w http.ResponseWriter, r *http.Request, id string) {
			if r.URL.Path == "/mcp" {
				status(308, "", "Location", "/moved")(w, r, id)
				return
			}
			answer(w, id, fine)
		}})
		if r, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
			t.Errorf("modern %v: %+v, %v", modern, r, err)
		}
	}
}
