package mcp_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"junction/state"
)

func TestARequestIsNotSentAgainByTheHTTPClient(t *testing.T) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key", "idempotency-key", "X-Plain"} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int64
			var carried atomic.Value
			s, _ := raw(t, &scripted{call: func(w http.ResponseWriter, r *http.Request, _ string) {
				arrived.Add(1)
				carried.Store(r.Header.Get(name))
				cut("")(w, r, "") // after a kept connection was used: net/http sends again what it holds for idempotent
			}})
			s.Dial.Headers = map[string]string{name: "always-the-same"}
			_, err := newClient(t, nil).Call(t.Context(), s, call("echo", nil))
			if e := callError(t, err); e.Execution != state.Unknown {
				t.Errorf("%s: %v", e.Execution, e)
			}
			if n := arrived.Load(); n != 1 {
				t.Errorf("the request arrived %d times", n)
			}
			if carried.Load() != "always-the-same" {
				t.Errorf("the header arrived as %q", carried.Load())
			}
		})
	}
}
