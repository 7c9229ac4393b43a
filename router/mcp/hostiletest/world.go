package hostiletest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// World is where tools take effect. It outlives every server, and what it counts
// is the truth that tests hold a client's records against. It is safe for
// concurrent use.
type World struct {
	URL string // of its own server, on loopback

	mu       sync.Mutex
	calls    map[string]int // by server
	effects  map[string]int // by server
	polls    map[string]int // questions about tasks, by method and server
	greeted  map[string]int // handshakes of the earlier era, by server
	verified map[string]int // questions of the tool "verify", by server
	receipts map[string]int // by ledger and key
	orders   map[string]int // receipts by order
	count    int
}

// NewWorld returns a world that the test's end closes.
func NewWorld(t testing.TB) *World {
	t.Helper()
	w := &World{calls: map[string]int{}, effects: map[string]int{}, verified: map[string]int{}, polls: map[string]int{}, greeted: map[string]int{}, receipts: map[string]int{}, orders: map[string]int{}}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	w.URL = s.URL
	return w
}

// Calls returns how often the tool of a server was called.
func (w *World) Calls(server string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[server]
}

// Effects returns how often anything took effect, at any server.
func (w *World) Effects() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Verified returns how often a server was asked what took effect.
func (w *World) Verified(server string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.verified[server]
}

// Greeted returns how many handshakes of the earlier era a server saw.
func (w *World) Greeted(server string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.greeted[server]
}

// Polls returns how often a server was asked about a task by a method of tasks/….
func (w *World) Polls(method, server string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.polls[method+" "+server]
}

// deed is the world's answer to a server.
type deed struct {
	Call    int `json:"call"`    // how often the server was called, this time included
	Receipt int `json:"receipt"` // of the effect; of one that a ledger knows, the first's. 0: none
}

// ServeHTTP answers servers: /arrive, /work, /poll, /greet and /verify.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	server, ledger, key, order := q.Get("server"), q.Get("ledger"), q.Get("key"), q.Get("order")
	w.mu.Lock()
	defer w.mu.Unlock()
	var d deed
	switch r.URL.Path {
	case "/arrive":
		w.calls[server]++
		d.Call = w.calls[server]
	case "/work":
		d.Receipt = w.work(server, ledger, key)
		w.orders[order] = d.Receipt
	case "/poll":
		w.polls[q.Get("method")+" "+server]++
	case "/greet":
		w.greeted[server]++
	case "/verify":
		w.verified[server]++
		d.Receipt = w.orders[order]
	}
	rw.Header().Set("Content-Type", "application/json")
	json.NewEncoder(rw).Encode(d) //nolint:errcheck // a server that hears nothing says so
}

// work lets a call take effect, unless its ledger knows the key.
func (w *World) work(server, ledger, key string) int {
	at := ledger + "\n" + key
	if key != "" && w.receipts[at] > 0 {
		return w.receipts[at]
	}
	w.count++
	w.effects[server]++
	w.receipts[at] = w.count
	return w.count
}

// tell asks the world at s.World.
func (s *Server) tell(path string, m *message) (d deed, err error) {
	ledger := s.Ledger
	if ledger == "" {
		ledger = "of " + s.ID
	}
	q := url.Values{"server": {s.ID}, "ledger": {ledger}, "method": {m.Method}, "key": {m.Params.Arguments.Key}, "order": {m.Params.Arguments.Order}}
	// A call that was cancelled was still made: the world hears of it.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.World+path+"?"+q.Encode(), nil)
	if err != nil {
		return d, fmt.Errorf("the world cannot be told: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return d, fmt.Errorf("the world cannot be told: %w", err)
	}
	defer resp.Body.Close()
	return d, json.NewDecoder(resp.Body).Decode(&d)
}
