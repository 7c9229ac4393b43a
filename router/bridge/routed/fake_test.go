package routed

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// fleet is servers whose answers a test writes: discovery and caller in one.
type fleet struct {
	snapshot  *router.Snapshot
	describe  func(ctx context.Context, s *router.Server) (*router.Description, error) // nil: as it stands
	tools     map[string][]router.Tool                                                 // by server id
	answer    func(ctx context.Context, s *router.Server, c router.ToolCall) (*router.ToolResult, error)
	mu        sync.Mutex
	calls     []router.ToolCall
	refreshed int
}

func (f *fleet) Snapshot() *router.Snapshot { return f.snapshot }

func (f *fleet) Refresh(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshed++
	return nil
}

func (f *fleet) Describe(ctx context.Context, s *router.Server) (*router.Description, error) {
	if f.describe != nil {
		return f.describe(ctx, s)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &router.Description{Name: s.ID, Tools: f.tools[s.ID]}, nil
}

func (f *fleet) Call(ctx context.Context, s *router.Server, c router.ToolCall) (*router.ToolResult, error) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	return f.answer(ctx, s, c)
}

func (f *fleet) made() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// person is the client of a handler under test.
type person struct {
	mu     sync.Mutex
	heard  []mcp.Notification
	asked  []json.RawMessage
	answer func(ctx context.Context, params json.RawMessage) (mcp.Reply, error)
}

func (p *person) Notify(n mcp.Notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, n)
}

func (p *person) Ask(ctx context.Context, _ string, params json.RawMessage) (mcp.Reply, error) {
	p.mu.Lock()
	p.asked = append(p.asked, params)
	p.mu.Unlock()
	return p.answer(ctx, params)
}

func (p *person) told() []mcp.Notification {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heard)
}

var noSchema = json.RawMessage(`{"type":"object"}`)

// server adds one that offers the capability work by its tool do.
func (f *fleet) server(id string, effect state.Effect) *router.Server {
	s := &router.Server{ID: id, Name: id, Dial: router.Dial{Command: id}, Offers: []router.Offer{{Capability: "work", Tool: "do", Effect: effect}}}
	f.snapshot.Servers = append(f.snapshot.Servers, s)
	f.tools[id] = []router.Tool{{Name: "do", Description: "Does it.", InputSchema: noSchema}}
	return s
}

func newFleet() *fleet {
	return &fleet{snapshot: &router.Snapshot{Version: 1, Contracts: map[string]router.Contract{}}, tools: map[string][]router.Tool{}}
}

// world is a handler with its router and client.
type world struct {
	*Handler
	client *person
	fleet  *fleet
}

// within runs a test in a bubble of virtual time.
func within(t *testing.T, f *fleet, o *Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := New(f, []Capability{{Name: "work"}}, o)
		r := router.New(f, f, &router.Options{Seed: 1, Observer: h})
		w := &world{Handler: h, client: &person{}, fleet: f}
		h.attach(r, w.client)
		test(t, w)
		h.Close()
		r.Close()
	})
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

// does makes a request and waits for its answer.
func (w *world) does(ctx context.Context, method, params string) mcp.Reply {
	return w.Begin(ctx, method, json.RawMessage(params))()
}

// result reads the result of a reply that is one.
func result[T any](t *testing.T, reply mcp.Reply) T {
	t.Helper()
	var v T
	if reply.Error != nil {
		t.Fatalf("%d %s %s", reply.Error.Code, reply.Error.Message, reply.Error.Data)
	}
	if err := json.Unmarshal(reply.Result, &v); err != nil {
		t.Fatalf("%v: %s", err, reply.Result)
	}
	return v
}

// trouble reads the error of a reply that is one.
func troubled(t *testing.T, reply mcp.Reply) (code int, message string, data map[string]any) {
	t.Helper()
	if reply.Error == nil {
		t.Fatalf("answered with %s, want an error", reply.Result)
	}
	if len(reply.Error.Data) > 0 {
		if err := json.Unmarshal(reply.Error.Data, &data); err != nil {
			t.Fatal(err)
		}
	}
	return reply.Error.Code, reply.Error.Message, data
}

type toolResult struct {
	ResultType string
	Content    []struct{ Type, Text string }
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool
	State      string `json:"requestState"`
	Requests   map[string]struct {
		Method string
		Params json.RawMessage
	} `json:"inputRequests"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// says answers every call with a text.
func says(text string) func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
	return func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Text: text}, nil
	}
}

func has(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}
