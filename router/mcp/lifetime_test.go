package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
)

func TestASessionIsTouchedAndReplacedBeforeItsEnd(t *testing.T) {
	said := time.Now()
	for _, c := range []struct{ ttl, touch, replace time.Duration }{
		{600 * time.Second, 300 * time.Second, 570 * time.Second},
		{200 * time.Second, 140 * time.Second, 170 * time.Second},
		{60 * time.Second, 30 * time.Second, 30 * time.Second},
		{20 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		l := lasting(said, c.ttl)
		if l.touch.Sub(said) != c.touch || l.replace.Sub(said) != c.replace || l.ends.Sub(said) != c.ttl {
			t.Errorf("ttl %v: touched after %v, replaced after %v", c.ttl, l.touch.Sub(said), l.replace.Sub(said))
		}
	}
}

// hotel is a server of the earlier era that tells how long sessions last.
type hotel struct {
	header   string // of answers to initialize; "": none
	declares string // under dev.junction/routing

	mu       sync.Mutex
	sessions int
	pings    int
	ended    []string
	calls    map[string]int // by session
	broken   bool           // no new sessions
}

func (h *hotel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct {
		ID     json.RawMessage
		Method string
	}
	json.Unmarshal(body, &req)
	h.mu.Lock()
	defer h.mu.Unlock()
	session, result := r.Header.Get("Mcp-Session-Id"), `{}`
	w.Header().Set("Date", time.Now().Add(3*time.Minute).UTC().Format(http.TimeFormat)) // its clock is wrong
	switch req.Method {
	case "initialize":
		if h.broken {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.sessions++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("room-", h.sessions))
		if h.header != "" {
			w.Header().Set("X-MCP-Session-TTL", h.header)
		}
		result = `{"protocolVersion":"2025-11-25","serverInfo":{"name":"hotel","version":"1"},"capabilities":{"tools":{}` + h.declares + `}}`
	case "tools/list":
		result = `{"tools":[{"name":"stay","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		h.calls[session]++
		result = `{"content":[]}`
	case "ping":
		h.pings++
		w.Header().Set("X-MCP-Session-TTL", "600")
	case "server/discover":
		w.WriteHeader(http.StatusNotFound)
		return
	default:
		if r.Method == http.MethodDelete {
			h.ended = append(h.ended, session)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

func checkIn(t *testing.T, h *hotel) (*Client, *router.Server) {
	t.Helper()
	h.calls = map[string]int{}
	ts := httptest.NewServer(h)
	t.Cleanup(ts.Close)
	c := New(nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c, &router.Server{ID: "hotel", Dial: router.Dial{URL: ts.URL}}
}

func stay(t *testing.T, c *Client, s *router.Server) {
	t.Helper()
	if _, err := c.Call(t.Context(), s, router.ToolCall{Tool: "stay", Max: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
}

func within10s(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not within 10 s: ", what)
		}
	}
}

func TestTheEndOfASessionIsKnownWhateverTheServersClock(t *testing.T) {
	for name, h := range map[string]*hotel{
		"by header":                   {header: "600"},
		"by header, as a duration":    {header: "10m"},
		"by declaration":              {declares: `,"experimental":{"dev.junction/routing":{"session_ttl":600}}`},
		"the header before the other": {header: "600", declares: `,"extensions":{"dev.junction/routing":{"session_ttl":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := checkIn(t, h)
			d, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(d.Session.Expires); left < 9*time.Minute || left > 10*time.Minute {
				t.Errorf("it ends in %v", left)
			}
		})
	}
	for _, h := range []*hotel{{}, {header: "soon"}, {header: "-5"}, {declares: `,"extensions":{"dev.junction/routing":{"session_ttl":"x"}}`}} {
		c, s := checkIn(t, h)
		d, err := c.Describe(t.Context(), s)
		if err != nil || !d.Session.Expires.IsZero() {
			t.Errorf("%+v: %v %v", h.header, err, d)
		}
	}
}

func TestASessionNearItsEndIsReplacedBesideTheCalls(t *testing.T) {
	h := &hotel{header: "600"}
	c, s := checkIn(t, h)
	stay(t, c, s)
	old := c.peers["hotel"].live.Load()
	due := lasting(time.Now(), time.Minute)
	due.replace = time.Now()
	due.touch = due.replace

	// While no other can be had, the old one serves.
	h.mu.Lock()
	h.broken = true
	h.mu.Unlock()
	old.link.(*httpLink).hop.tenure.Store(due)
	within10s(t, "an attempt", func() bool {
		stay(t, c, s)
		p := c.peers["hotel"]
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.failures > 0
	})
	h.mu.Lock()
	h.broken = false
	h.mu.Unlock()
	within10s(t, "another session", func() bool {
		stay(t, c, s)
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.calls["room-2"] > 0
	})
	within10s(t, "the end of the old one", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return strings.Join(h.ended, " ") == "room-1"
	})
	if h.mu.Lock(); h.sessions != 2 {
		t.Errorf("%d sessions", h.sessions)
	}
	h.mu.Unlock()
}

func TestASessionThatIsUsedIsProlongedOnce(t *testing.T) {
	h := &hotel{header: "600"}
	c, s := checkIn(t, h)
	stay(t, c, s)
	hop := c.peers["hotel"].live.Load().link.(*httpLink).hop
	due := lasting(time.Now(), time.Minute)
	due.touch = time.Now()
	hop.tenure.Store(due)
	for range 10 {
		stay(t, c, s)
	}
	within10s(t, "a longer session", func() bool { return hop.tenure.Load() != due })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pings != 1 || h.sessions != 1 {
		t.Errorf("touched %d times, %d sessions", h.pings, h.sessions)
	}
}
