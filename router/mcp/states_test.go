package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// What a handshake comes to does not matter once its server was forgotten, and must not
// be heard: another connection may have the server's name by then.
func TestOfAServerThatWasForgottenNothingMoreIsTold(t *testing.T) {
	t.Parallel()
	asked, let := make(chan struct{}, 16), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-let:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(h.Close)
	told := make(chan mcp.State, 16)
	shaken := make(chan router.Code, 1)
	c := newClient(t, &mcp.Options{
		OnStateChange: func(_ string, is mcp.State) { told <- is },
		OnHandshake:   func(_ string, _ time.Duration, failed router.Code) { shaken <- failed },
	})
	s := &router.Server{ID: "docs", Dial: router.Dial{URL: h.URL}}
	failed := make(chan error, 1)
	go func() {
		_, err := c.Describe(t.Context(), s)
		failed <- err
	}()
	<-asked
	c.Forget(s.ID)
	close(let)
	if err := <-failed; err == nil {
		t.Fatal("it was described")
	}
	if code := <-shaken; code == "" {
		t.Error("the handshake is said to have gone well")
	}
	close(told)
	if got, want := slices.Collect(values(told)), []mcp.State{mcp.Connecting, mcp.Closed}; !slices.Equal(got, want) {
		t.Errorf("told were %v, want %v", got, want)
	}
}

func values[T any](c <-chan T) func(func(T) bool) {
	return func(yield func(T) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}
