package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router/mcp"
)

// standingServer is a questioner of the earlier era that asks on a stream of its
// own and not on that of the call.
type standingServer struct {
	*questioner
	session string
	open    func(n int, w http.ResponseWriter) bool // what becomes of the n-th request for the stream; false: no more
	says    chan string                             // messages for it

	mu    sync.Mutex
	asked []http.Header // of the requests for the stream
}

func newStandingServer() *standingServer {
	return &standingServer{
		questioner: newQuestioner(false), session: "s-1", says: make(chan string, 8),
		open: func(int, http.ResponseWriter) bool { return true },
	}
}

func (s *standingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.stream(w, r)
		return
	}
	body, _ := peek(r)
	if strings.Contains(body, `"method":"initialize"`) && s.session != "" {
		w.Header().Set("Mcp-Session-Id", s.session)
	}
	said := ""
	if body != "" {
		said = s.answer([]byte(body), func(id, method, params string) { s.says <- request(id, method, params) })
	}
	if said == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, said) //nolint:errcheck // the client has gone
}

func (s *standingServer) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Clone())
	n := len(s.asked)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	if !s.open(n, w) {
		return
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case m := <-s.says:
			fmt.Fprintf(w, "event: message\nid: 7\ndata: %s\n\n", m)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *standingServer) requests() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func TestAQuestionOnTheServersOwnStreamReachesTheCallThatCanAsk(t *testing.T) {
	t.Parallel()
	s, _ := raw(t, newStandingServer())
	c := newClient(t, asking())
	ask := call("asks", nil)
	ask.Ask = accepts(`{"z":"Rome"}`)
	if r, err := c.Call(t.Context(), s, ask); err != nil || r.Text != `{"action":"accept","content":{"z":"Rome"}}` {
		t.Errorf("the server was answered %+v, %v", r, err)
	}
	for tool, says := range map[string]string{
		"asks": `{"action":"decline","_meta":{"dev.junction/reason":"nobody can be asked during this call"}}`, "samples": `"code":-32601`, "pings": `{}`,
	} {
		if r, err := c.Call(t.Context(), s, call(tool, nil)); err != nil || !strings.Contains(r.Text, says) {
			t.Errorf("%s: the server was answered %+v, %v", tool, r, err)
		}
	}
}

func TestTheServersOwnStreamIsOpenedAnewWithoutLastEventID(t *testing.T) {
	t.Parallel()
	h := newStandingServer()
	h.open = func(n int, w http.ResponseWriter) bool {
		if n == 2 {
			w.WriteHeader(http.StatusBadGateway)
		}
		if n == 1 {
			io.WriteString(w, "id: 3\nretry: 1\ndata: \n\n") //nolint:errcheck // the client has gone
		}
		return n > 2
	}
	s, _ := raw(t, h)
	c := newClient(t, &mcp.Options{Elicitation: true, Backoff: mcp.Backoff{Base: time.Millisecond, Cap: 5 * time.Millisecond}})
	ask := call("asks", nil)
	ask.Ask = accepts(`{"z":"Rome"}`)
	if r, err := c.Call(t.Context(), s, ask); err != nil || !strings.Contains(r.Text, "Rome") { // asked once the third stream is there
		t.Errorf("%+v, %v", r, err)
	}
	asked := h.requests()
	if len(asked) != 3 {
		t.Fatalf("%d requests for the stream, want 3", len(asked))
	}
	for _, header := range asked {
		if header.Get("Last-Event-ID") != "" || header.Get("Mcp-Session-Id") != "s-1" || header.Get("Mcp-Protocol-Version") != "2025-11-25" {
			t.Errorf("headers %v", header)
		}
	}
}

func TestAServerIsAskedForAStreamOfItsOwnOnlyWhereItMayHaveOne(t *testing.T) {
	t.Parallel()
	refuses := func(code int) func(int, http.ResponseWriter) bool {
		return func(_ int, w http.ResponseWriter) bool { w.WriteHeader(code); return false }
	}
	for name, tc := range map[string]struct {
		options *mcp.Options
		session string
		open    func(int, http.ResponseWriter) bool
		asked   int
	}{
		"nobody can be asked": {nil, "s-1", refuses(405), 0},
		"it has no sessions":  {asking(), "", refuses(405), 0},
		"it refuses":          {asking(), "s-1", refuses(405), 1},
		"it knows no such":    {asking(), "s-1", refuses(404), 1},
		"it answers otherwise": {asking(), "s-1", func(_ int, w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "text/html")
			return false
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStandingServer()
			h.session, h.open = tc.session, tc.open
			s, _ := raw(t, h)
			c := newClient(t, tc.options)
			for range 3 {
				if _, err := c.Call(t.Context(), s, call("was told", nil)); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(h.requests()); got != tc.asked {
				t.Errorf("%d requests for the stream, want %d", got, tc.asked)
			}
		})
	}
}

func TestToolsAreReadAgainWhenTheServersOwnStreamSaysThatTheyChanged(t *testing.T) {
	t.Parallel()
	h := newStandingServer()
	s, _ := raw(t, h)
	c := newClient(t, asking())
	before, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := c.Describe(t.Context(), s); err != nil || same != before {
		t.Fatalf("read again for no reason, %v", err)
	}
	h.says <- "no JSON"
	h.says <- `{"jsonrpc":"2.0","id":12345,"result":{}}`
	h.says <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	deadline := time.Now().Add(10 * time.Second)
	for after := before; after == before; {
		if time.Now().After(deadline) {
			t.Fatal("the tools are not read again")
		}
		if after, err = c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Strays(s.ID)[mcp.WrongID]; got != 1 {
		t.Errorf("%d answers to nothing were counted, want 1", got)
	}
}

func TestAFloodOnTheServersOwnStreamHoldsUpNoCall(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]string{
		"of progress":        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n",
		"of changes":         "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
		"of questions":       "data: " + request("q", "elicitation/create", question) + "\n\n",
		"in one event":       "data: x\n",
		"in one line":        "x",
		"of events too long": "data: " + strings.Repeat("x", 128<<10) + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStandingServer()
			h.open = func(_ int, w http.ResponseWriter) bool {
				for {
					if _, err := io.WriteString(w, flood); err != nil {
						return false
					}
				}
			}
			s, _ := raw(t, h)
			c := newClient(t, &mcp.Options{Elicitation: true, MaxResponseBytes: 64 << 10})
			if _, err := c.Call(t.Context(), s, call("was told", nil)); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if _, err := c.Call(t.Context(), s, call("was told", nil)); err != nil {
					t.Fatal(err)
				}
			}
			// Full jitter may draw nothing a few times, and not for long.
			if asked := len(h.requests()); asked > 50 {
				t.Errorf("%d requests for the stream", asked)
			}
		})
	}
}
