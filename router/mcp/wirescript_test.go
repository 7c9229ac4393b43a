package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"junction/router"
)

// What a scripted server writes where exactness is asked for: numbers, order, blanks
// and escapes of which a decoder would keep nothing.
const (
	exactResult = `{"b":12345678901234567890, "a":1.50,"é":"\u00e9<&>\/","b2":[1e2,-0],"nothing":null}`
	exactData   = `{"z":9007199254740993,"a":[ 1.0 ],"\u0061b":"\u003c"}`
)

// wireScript is a server written by hand, a method per behaviour, over any transport.
type wireScript struct {
	modern  bool
	session string

	mu        sync.Mutex
	greeted   []string // parameters of the handshake
	heard     []string // notifications
	cancelled map[string]chan struct{}
	answers   map[string]chan string // to requests of the server, by id
	notices   chan string            // of cancels
	closed    chan string            // requests whose stream was
	standing  chan func(string)      // over HTTP, the stream that a client listens on
	ended     int
}

func newWireScript(modern bool) *wireScript {
	return &wireScript{modern: modern, cancelled: map[string]chan struct{}{}, answers: map[string]chan string{}, notices: make(chan string, 8), closed: make(chan string, 8), standing: make(chan func(string), 8)}
}

type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// of is a channel in m, made when it is first asked for.
func of[T any](s *wireScript, m map[string]chan T, id string) chan T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m[id] == nil {
		m[id] = make(chan T, 1)
	}
	return m[id]
}

// handle serves one message; send writes one on the stream that it came on.
func (s *wireScript) handle(ctx context.Context, body []byte, send func(string)) {
	var m wireMessage
	if json.Unmarshal(body, &m) != nil {
		return
	}
	switch {
	case m.Method == "": // an answer
		of(s, s.answers, string(m.ID)) <- strings.TrimSpace(string(body))
		return
	case m.Method == "notifications/cancelled":
		var p struct{ RequestID json.RawMessage }
		json.Unmarshal(m.Params, &p)
		s.notices <- string(p.RequestID)
		of(s, s.cancelled, string(p.RequestID)) <- struct{}{}
		return
	case m.ID == nil:
		s.mu.Lock()
		s.heard = append(s.heard, strings.TrimSpace(string(body)))
		s.mu.Unlock()
		return
	}
	result := func(raw string) { send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, raw)) }
	switch m.Method {
	case "server/discover":
		if !s.modern {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID))
			return
		}
		s.note(m.Params)
		result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"big":12345678901234567890}}`)
	case "initialize":
		s.note(m.Params)
		result(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"wire","version":"1"},"capabilities":{"tools":{},"big":12345678901234567890}}`)
	case "ping":
		result(`{}`)
	case "x/exact":
		result(exactResult)
	case "x/fault":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"no \u003c luck","data":%s},"id":%s}`, exactData, m.ID))
	case "x/unsupported":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01"]}}}`, m.ID))
	case "x/echo":
		result(string(m.Params))
	case "x/progress":
		s.progress(&m, send)
		result(`{}`)
	case "x/subscribe":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID))
		send(`{"jsonrpc":"2.0","method":"notifications/y","params":{"n":2,"_meta":{"io.modelcontextprotocol/subscriptionId":77,"k":1}}}`)
		result(`{}`)
	case "x/flood":
		for i := range 5000 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i))
		}
		result(`{}`)
	case "x/hang":
		select {
		case <-of(s, s.cancelled, string(m.ID)):
			result(`{"late":true}`)
		case <-ctx.Done():
			s.closed <- string(m.ID)
		}
	case "x/ask":
		s.ask(ctx, &m, send, result)
	case "x/wrong":
		send(`{"jsonrpc":"2.0","id":7,"result":{}}`)
		if s.session == "" {
			result(`{}`)
		}
	case "x/half":
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"a":`, m.ID))
	case "x/heard":
		s.mu.Lock()
		defer s.mu.Unlock()
		result("[" + strings.Join(s.heard, ",") + "]")
	case "x/late":
		result(`{}`)
		s.progress(&m, send)
	case "x/abandon": // asks, and goes on without an answer
		send(`{"jsonrpc":"2.0","id":"q0","method":"x/own"}`)
		result(`{}`)
	case "x/large":
		result(`"` + strings.Repeat("x", 300<<10) + `"`)
	default:
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID))
	}
}

func (s *wireScript) note(params json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted = append(s.greeted, string(params))
}

// progress reports thrice, one of them not rising, with a stray one between.
func (s *wireScript) progress(m *wireMessage, send func(string)) {
	var p struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	json.Unmarshal(m.Params, &p)
	for _, at := range []string{"0.10", "12345678901234567890", "3"} {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":{"b":1,"a":2},"progressToken":%s,"progress":%s}}`, p.Meta.Token, at))
		send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}`)
	}
}

// ask puts requests to the client, as many as it was told to, and answers with what
// came back; the last is withdrawn where that was asked for.
func (s *wireScript) ask(ctx context.Context, m *wireMessage, send func(string), result func(string)) {
	var p struct {
		Method   string
		Count    int
		Withdraw bool
	}
	json.Unmarshal(m.Params, &p)
	var got []string
	for i := range max(p.Count, 1) {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":%s}`, i, p.Method, exactResult))
	}
	if p.Withdraw {
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q0","reason":"never mind"}}`)
		result(`{}`)
		return
	}
	for i := range max(p.Count, 1) {
		select {
		case a := <-of(s, s.answers, fmt.Sprintf(`"q%d"`, i)):
			got = append(got, a)
		case <-ctx.Done():
			return
		}
	}
	result("[" + strings.Join(got, ",") + "]")
}

// ServeHTTP serves the script over Streamable HTTP, each answer on a stream.
func (s *wireScript) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m wireMessage
	json.Unmarshal(body, &m)
	var writing sync.Mutex
	stream := func(raw string) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Fprintf(w, "data: %s\n\n", raw)
		w.(http.Flusher).Flush()
	}
	switch {
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		s.standing <- stream
		<-r.Context().Done()
	case m.Method == "" || m.ID == nil:
		s.handle(r.Context(), body, nil)
		w.WriteHeader(http.StatusAccepted)
	default:
		if m.Method == "initialize" && s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		s.handle(r.Context(), body, stream)
	}
}

// playWire serves the script on standard streams.
func playWire(modern bool) int {
	s := newWireScript(modern)
	in := bufio.NewReader(os.Stdin)
	var writing sync.Mutex
	send := func(raw string) {
		writing.Lock()
		defer writing.Unlock()
		fmt.Println(raw)
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		if strings.Contains(string(line), `"x/die"`) {
			fmt.Fprintln(os.Stderr, "panic: out of ideas; token is "+os.Getenv("API_TOKEN"))
			return 3
		}
		var m wireMessage
		json.Unmarshal(line, &m)
		if m.ID == nil || m.Method == "" {
			s.handle(context.Background(), line, send)
			continue
		}
		go s.handle(context.Background(), line, send)
	}
}

// wireServers runs f against the script in both eras on both transports. script is nil
// for a child, which has its own.
func wireServers(t *testing.T, f func(t *testing.T, modern bool, s *router.Server, script *wireScript)) {
	for _, modern := range []bool{true, false} {
		era := map[bool]string{true: "modern", false: "legacy"}[modern]
		t.Run(era+", stdio", func(t *testing.T) {
			t.Parallel()
			f(t, modern, stdioServer(t, "wire, "+era), nil)
		})
		t.Run(era+", http", func(t *testing.T) {
			t.Parallel()
			script := newWireScript(modern)
			if !modern {
				script.session = "wire-session-0815"
			}
			s, _ := raw(t, script)
			f(t, modern, s, script)
		})
	}
}
