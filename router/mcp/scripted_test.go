package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// scripted is a server written by hand: a handshake without surprises, and the
// test's own way with tools/call.
type scripted struct {
	modern  bool
	session string // the session id it gives; "": none
	tools   string // the list; "": one tool "echo"
	call    func(w http.ResponseWriter, r *http.Request, id string)
	// initialize holds the handshake of the earlier era up; nil: it does not.
	initialize func(r *http.Request)
	// rest serves GET requests; nil: there is nothing to get.
	rest func(w http.ResponseWriter, r *http.Request)

	mu         sync.Mutex
	handshakes int
	cancelled  []string // request ids of notifications/cancelled
	ended      int      // DELETE requests
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := string(idOf(body))
	is := func(method string) bool { return bytes.Contains(body, []byte(`"method":"`+method+`"`)) }
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		s.ended++
	case r.Method == http.MethodGet && s.rest != nil:
		s.rest(w, r)
	case is("server/discover") && s.modern:
		answer(w, id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"1"}}}`)
	case is("server/discover"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
	case is("initialize"):
		s.handshakes++
		if s.initialize != nil {
			s.mu.Unlock()
			s.initialize(r)
			s.mu.Lock()
		}
		if s.session != "" {
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		answer(w, id, `{"protocolVersion":"2025-11-25","serverInfo":{"name":"raw","version":"1"},"capabilities":{"tools":{}}}`)
	case is("tools/list"):
		list := s.tools
		if list == "" {
			list = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		}
		answer(w, id, list)
	case is("notifications/cancelled"):
		s.cancelled = append(s.cancelled, string(body))
		w.WriteHeader(http.StatusAccepted)
	case is("tools/call"):
		s.mu.Unlock()
		defer s.mu.Lock()
		s.call(w, r, id)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *scripted) saw() (handshakes, ended int, cancelled []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handshakes, s.ended, s.cancelled
}

func answer(w http.ResponseWriter, id, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

const fine = `{"content":[{"type":"text","text":"fine"}]}`

// status answers with an HTTP status, headers in pairs, and a body.
func status(code int, body string, headers ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, strings.ReplaceAll(body, "$ID", id))
	}
}

// rpc answers with a JSON-RPC error.
func rpc(code int) func(http.ResponseWriter, *http.Request, string) {
	return status(200, fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":"no","data":{"why":"x"}}}`, code))
}

// cut answers with bytes as they are and then breaks the connection.
func cut(raw string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, id string) {
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		buf.WriteString(strings.ReplaceAll(raw, "$ID", id))
		buf.Flush()
		conn.Close()
	}
}
