package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// shop is an MCP server over HTTP that outlives every worker. Its tool review
// reads, record takes effect once for each key, charge takes effect whenever it
// is called. Each call takes some time.
type shop struct {
	url  string
	took time.Duration

	mu      sync.Mutex
	reviews int
	effects map[string]int // executions by key
	repeats int            // calls with a key that was known
	charges map[string]int // by order
	busy    chan struct{}  // gets a value when a call of wait begins, if somebody listens
	ended   chan time.Time // when a call of wait was cancelled
}

func newShop(t testing.TB, took time.Duration) *shop {
	t.Helper()
	s := &shop{took: took, effects: map[string]int{}, charges: map[string]int{}, busy: make(chan struct{}, 100), ended: make(chan time.Time, 100)}
	m := server.NewMCPServer("shop", "1.0.0")
	m.AddTool(mcp.NewTool("review", mcp.WithString("text")), s.review)
	m.AddTool(mcp.NewTool("record", mcp.WithString("text"), mcp.WithString("key")), s.record)
	m.AddTool(mcp.NewTool("charge", mcp.WithString("order")), s.charge)
	m.AddTool(mcp.NewTool("wait"), s.wait)
	web := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true)))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.url = web.URL + "/mcp"
	return s
}

// config is the servers file of a worker that knows the shop.
func (s *shop) config() string {
	return fmt.Sprintf(`
mcpServers:
  shop:
    url: %s
    max_concurrent: 512
    offers:
      - {capability: review, tool: review, effect: safe}
      - {capability: record, tool: record, effect: conditional, key: key, ledger: {name: shop, keeps: 24h}}
      - {capability: charge, tool: charge, effect: unsafe}
      - {capability: wait, tool: wait, effect: safe}
`, s.url)
}

// work takes the shop's time, or less when the call is given up.
func (s *shop) work(ctx context.Context) {
	timer := time.NewTimer(s.took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *shop) review(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.work(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reviews++
	return mcp.NewToolResultStructured(map[string]any{"issues": []any{"in " + r.GetString("text", "")}}, "done"), nil
}

// record takes effect in the middle of its time, so that a worker can die before
// and after it.
func (s *shop) record(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.work(ctx)
	s.mu.Lock()
	key := r.GetString("key", "")
	if s.effects[key] == 0 {
		s.effects[key]++
	} else {
		s.repeats++
	}
	s.mu.Unlock()
	s.work(ctx)
	return mcp.NewToolResultStructured(map[string]any{"receipt": key}, "done"), nil
}

func (s *shop) charge(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.mu.Lock()
	s.charges[r.GetString("order", "")]++
	s.mu.Unlock()
	s.work(ctx)
	return mcp.NewToolResultStructured(map[string]any{"ok": true}, "done"), nil
}

// wait ends when it is cancelled, and says when.
func (s *shop) wait(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.busy <- struct{}{}
	<-ctx.Done()
	s.ended <- time.Now()
	return mcp.NewToolResultText("cancelled"), nil
}

// assertOnce checks that each of n keys took effect once.
func (s *shop) assertOnce(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.effects) != n {
		t.Errorf("%d keys took effect, want %d", len(s.effects), n)
	}
	for key, times := range s.effects {
		if times != 1 {
			t.Errorf("key %s took effect %d times", key, times)
		}
	}
	t.Logf("%d reviews; %d effects, %d calls that a ledger knew already", s.reviews, len(s.effects), s.repeats)
}
