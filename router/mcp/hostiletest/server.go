package hostiletest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"junction/router"
)

// Server is a server and what it does wrong.
type Server struct {
	ID     string
	Modern bool // speaks 2026-07-28 only; else 2025-11-25 only
	Fault  Fault
	Times  int    // how many calls, of all its lives, go wrong; 0: all
	At     string // the method that goes wrong, each time; "": calls of the tool "work"
	// Faults are those of its tool's calls, one after another, where they differ;
	// when they are used up it does well. Fault and Times then mean nothing.
	Faults    []Fault
	Ledger    string // that knows the keys of calls; servers may share one. "": its own
	World     string // URL
	Elsewhere string // URL of another host, for what refers or redirects there
	// Blind: its tool "verify" fails.
	Blind bool

	mu        sync.Mutex
	cancelled map[string]chan struct{} // by the id of a call that waits for its cancel
}

// roleVar holds the server that a child process is, in JSON.
const roleVar = "JUNCTION_HOSTILE_SERVER"

// Play serves on the standard streams and returns true in a process that
// [Server.Stdio] had started; elsewhere it does nothing.
func Play() bool {
	role := os.Getenv(roleVar)
	if role == "" {
		return false
	}
	s := &Server{}
	if err := json.Unmarshal([]byte(role), s); err != nil {
		fmt.Fprintf(os.Stderr, "no server: %v\n", err)
		os.Exit(2)
	}
	s.playStdio()
	return true
}

// Stdio is the server as a child process. The test binary's TestMain must begin
// with [Play].
func (s *Server) Stdio(t testing.TB) *router.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	role, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return &router.Server{ID: s.ID, Name: s.ID, Source: "file", Dial: router.Dial{
		Command: self, Env: map[string]string{roleVar: string(role), "GORACE": "atexit_sleep_ms=0"},
	}}
}

// HTTP is the server at an address of loopback; the test's end closes it.
func (s *Server) HTTP(t testing.TB) *router.Server {
	t.Helper()
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &router.Server{ID: s.ID, Name: s.ID, Source: "file", Dial: router.Dial{URL: ts.URL + "/mcp"}}
}

// cancel returns what takes one value when the call with this id is cancelled.
func (s *Server) cancel(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled == nil {
		s.cancelled = map[string]chan struct{}{}
	}
	if s.cancelled[id] == nil {
		s.cancelled[id] = make(chan struct{}, 1)
	}
	return s.cancelled[id]
}
