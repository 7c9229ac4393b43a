package bridge

import (
	"context"
	"encoding/json"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Hints are what a server says of its tools' effects, as its client reads it. They are
// worth what the server is; the operator decides whether they count.
type Hints struct {
	mu sync.Mutex
	by map[string]hint
}

type hint struct{ readOnly, idempotent bool }

// mostHinted bounds the tools that are remembered of one server.
const mostHinted = 10_000

// Learn returns the session, which from now on tells h of the tools that it lists.
func (h *Hints) Learn(s Session) Session { return &hinted{Session: s, hints: h} }

// Effect is what the hints say of a tool: safe where it changes nothing, or nothing
// more when it is called again at the same server; elsewhere asks whether a call may
// be made again at another one. Unsafe otherwise, and for a tool that was not listed.
func (h *Hints) Effect(tool string, elsewhere bool) state.Effect {
	h.mu.Lock()
	defer h.mu.Unlock()
	if said := h.by[tool]; said.readOnly || said.idempotent && !elsewhere {
		return state.Safe
	}
	return state.Unsafe
}

type hinted struct {
	Session
	hints *Hints
}

// Do implements [Session].
func (s *hinted) Do(ctx context.Context, r *mcp.Request) (mcp.Reply, *router.CallError) {
	reply, fail := s.Session.Do(ctx, r)
	s.learn(r, reply, fail)
	return reply, fail
}

// Start implements [punctual] where the session itself does.
func (s *hinted) Start(ctx context.Context, r *mcp.Request) func() (mcp.Reply, *router.CallError) {
	wait := s.Session.(punctual).Start(ctx, r)
	if r.Method != string(protocol.MethodToolsList) {
		return wait
	}
	return func() (mcp.Reply, *router.CallError) {
		reply, fail := wait()
		s.learn(r, reply, fail)
		return reply, fail
	}
}

func (s *hinted) learn(r *mcp.Request, reply mcp.Reply, fail *router.CallError) {
	if r.Method == string(protocol.MethodToolsList) && fail == nil && reply.Error == nil {
		s.hints.take(reply.Result)
	}
}

// Punctual says what the session itself says.
func (s *hinted) Punctual() bool {
	p, ok := s.Session.(punctual)
	return ok && p.Punctual()
}

func (h *Hints) take(result json.RawMessage) {
	var list struct {
		Tools []struct {
			Name        string
			Annotations struct {
				ReadOnly   bool `json:"readOnlyHint"`
				Idempotent bool `json:"idempotentHint"`
			}
		}
	}
	if json.Unmarshal(result, &list) != nil {
		return // the client sees it as it is
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[string]hint{}
	}
	for _, t := range list.Tools {
		if _, known := h.by[t.Name]; known || len(h.by) < mostHinted {
			h.by[t.Name] = hint{t.Annotations.ReadOnly, t.Annotations.Idempotent}
		}
	}
}
