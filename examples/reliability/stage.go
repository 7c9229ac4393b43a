package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// stage is a small MCP server that a lab directs: it does the handshake by
// itself, hands each call of its one tool to the lab, and notes what the client
// sends.
type stage struct {
	modern bool
	calls  chan *scene

	mu        sync.Mutex
	cancelled map[string]bool // by request id: its notifications/cancelled came
	notices   chan string     // their request ids, as they come
	resumes   int             // requests with a Last-Event-ID
	opened    int             // calls
}

// scene is one call of the tool, as its server has it in hand.
type scene struct {
	id     string // of the request, as JSON
	token  string // of its progress, as JSON
	send   func(message string) error
	hangUp func()        // ends the request's stream, or the pipe, without an answer
	closed chan struct{} // closed when the client closed the request's stream; never on a pipe
	done   chan struct{} // closed by the lab: the request's stream may end
}

func newStage(modern bool) *stage {
	return &stage{modern: modern, calls: make(chan *scene), cancelled: map[string]bool{}, notices: make(chan string, 16)}
}

// message is what a client sends.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

const tools = `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`

// reply answers what belongs to the handshake; "": there is no answer.
func (s *stage) reply(m *message) string {
	result := func(text string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text) }
	switch {
	case m.Method == "notifications/cancelled":
		s.notice(string(m.Params.RequestID))
	case len(m.ID) == 0: // another notification
	case m.Method == "server/discover" && s.modern:
		return result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stage","version":"1"}}}`)
	case m.Method == "initialize":
		return result(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"stage","version":"1"},"capabilities":{"tools":{}}}`)
	case m.Method == "tools/list":
		return result(tools)
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	}
	return ""
}

// notice takes in that a request was cancelled.
func (s *stage) notice(id string) {
	s.mu.Lock()
	s.cancelled[id] = true
	s.mu.Unlock()
	select {
	case s.notices <- id:
	default: // nobody waits for so many
	}
}

func (s *stage) noticed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled[id]
}

// seen is how many calls came, and how many requests asked to resume a stream.
func (s *stage) seen() (calls, resumes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.resumes
}

// open hands a call to the lab.
func (s *stage) open(ctx context.Context, c *scene) {
	s.mu.Lock()
	s.opened++
	s.mu.Unlock()
	select {
	case s.calls <- c:
	case <-ctx.Done():
	}
}

func newScene(m *message) *scene {
	return &scene{id: string(m.ID), token: string(m.Params.Meta.Token), closed: make(chan struct{}), done: make(chan struct{})}
}

func (c *scene) answer(text string) error {
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, c.id, text))
}

func (c *scene) progress(n int) error {
	return c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, c.token, n))
}
