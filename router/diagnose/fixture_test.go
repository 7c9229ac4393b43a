package diagnose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/router/diagnose"
)

// reviewer is a real server with one tool.
func reviewer() *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("reviewer", "1.2.3")
	s.AddTool(protocol.NewTool("review", protocol.WithString("code")), func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		panic("a diagnosis calls no tool")
	})
	return s
}

// scripted is an MCP server made of answers.
type scripted struct {
	legacy bool                                                             // it speaks the protocol with sessions
	tools  func() string                                                    // JSON; nil: one tool
	offers string                                                           // capabilities; "": tools
	first  func(w http.ResponseWriter, r *http.Request, method string) bool // reports whether it has answered
	asked  atomic.Int32
}

const oneTool = `[{"name":"review","inputSchema":{"type":"object"}}]`

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.asked.Add(1)
	if s.first != nil && s.first(w, r, m.Method) {
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	tools, offers := oneTool, `{"tools":{}}`
	if s.tools != nil {
		tools = s.tools()
	}
	if s.offers != "" {
		offers = s.offers
	}
	w.Header().Set("Content-Type", "application/json")
	info := `{"name":"scripted","version":"1"}`
	switch {
	case m.Method == "server/discover" && !s.legacy:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":%s,"_meta":{"io.modelcontextprotocol/serverInfo":%s}}}`, m.ID, offers, info)
	case m.Method == "initialize" && s.legacy:
		w.Header().Set("Mcp-Session-Id", "hunter-session")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":%s}}`, m.ID, offers, info)
	case m.Method == "ping" && s.legacy:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case m.Method == "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":%s}}`, m.ID, tools)
	default:
		if !s.legacy {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
	}
}

// serve serves h at /mcp until the test ends, and returns the URL of that.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	return ts.URL + "/mcp"
}

func at(url string) *router.Server {
	return &router.Server{ID: "tested", Name: "tested", Source: "file", Dial: router.Dial{URL: url}}
}

// diagnosed is the report on a server, with little patience.
func diagnosed(t *testing.T, s *router.Server, o *diagnose.Options) *diagnose.Report {
	t.Helper()
	if o == nil {
		o = &diagnose.Options{}
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return diagnose.Server(ctx, s, o)
}

// blames holds a report against the layer that has to fail first, and what its causes
// and fixes have to say.
func blames(t *testing.T, r *diagnose.Report, layer int, says ...string) {
	t.Helper()
	if r.Failed != layer || r.Status != diagnose.Failed {
		t.Fatalf("layer %d is blamed (%s), and it is %d:\n%s", r.Failed, r.Status, layer, shown(r))
	}
	text := ""
	for _, trouble := range r.Layer(layer).Troubles {
		text += trouble.Cause + "\n" + trouble.Fix + "\n" + trouble.Paste + "\n"
		if trouble.Cause == "" || trouble.Fix == "" {
			t.Errorf("no cause or no fix: %+v", trouble)
		}
	}
	for _, want := range says {
		if !strings.Contains(text, want) {
			t.Errorf("nothing is said of %q:\n%s", want, shown(r))
		}
	}
}

// has holds the status of layers, from the first one, against letters: p(assed),
// w(arned), f(ailed), r(not reached), a(not applicable), m(not measurable).
func has(t *testing.T, r *diagnose.Report, want string) {
	t.Helper()
	letters := map[diagnose.Status]string{
		diagnose.Passed: "p", diagnose.Warned: "w", diagnose.Failed: "f",
		diagnose.NotReached: "r", diagnose.NotApplicable: "a", diagnose.NotMeasurable: "m",
	}
	got := ""
	for _, l := range r.Layers {
		got += letters[l.Status]
	}
	if got != want {
		t.Errorf("%s, want %s:\n%s", got, want, shown(r))
	}
}

func shown(r *diagnose.Report) string {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}
