package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// telling is a server of the later era, written by hand, that tells its subscribers
// of changes to its tools.
type telling struct {
	grant  string                            // what it acknowledges; "": what was asked for
	refuse func(http.ResponseWriter, string) // instead of a stream; nil: none

	mu      sync.Mutex
	tools   []string
	version string
	lists   int // readings of the tools
	now     int // of them under way
	most    int
	asked   []asked      // the subscriptions
	streams chan *stream // those open
}

// asked is a subscription as it was requested.
type asked struct {
	id     string
	header http.Header
	filter string
}

// stream is an open subscription; say sends an event, end ends it.
type stream struct {
	id  string
	say chan string
	end chan struct{}
}

func newTelling(tools ...string) *telling {
	return &telling{tools: tools, version: "1", streams: make(chan *stream, 100)}
}

func (s *telling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := string(idOf(body))
	is := func(method string) bool { return bytes.Contains(body, []byte(`"method":"`+method+`"`)) }
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case is("server/discover"):
		s.mu.Lock()
		v := s.version
		s.mu.Unlock()
		answer(w, id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"`+v+`"}}}`)
	case is("tools/list"):
		s.list(w, id)
	case is("subscriptions/listen"):
		s.listen(w, r, id, body)
	default:
		answer(w, id, fine)
	}
}

func (s *telling) list(w http.ResponseWriter, id string) {
	s.mu.Lock()
	s.lists++
	s.now++
	s.most = max(s.most, s.now)
	var all []string
	for _, name := range s.tools {
		all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	s.mu.Unlock()
	answer(w, id, `{"tools":[`+strings.Join(all, ",")+`]}`)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

func (s *telling) listen(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	var req struct {
		Params struct {
			Notifications json.RawMessage `json:"notifications"`
		} `json:"params"`
	}
	json.Unmarshal(body, &req)
	s.mu.Lock()
	s.asked = append(s.asked, asked{id, r.Header.Clone(), string(req.Params.Notifications)})
	s.mu.Unlock()
	if s.refuse != nil {
		s.refuse(w, id)
		return
	}
	grant := s.grant
	if grant == "" {
		grant = string(req.Params.Notifications)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tell := func(event string) {
		// The event ids are bait: a stream of this era cannot be taken up again.
		fmt.Fprintf(w, "id: 42\ndata: %s\n\n", event)
		w.(http.Flusher).Flush()
	}
	tell(notification("subscriptions/acknowledged", id, `,"notifications":`+grant))
	st := &stream{id: id, say: make(chan string), end: make(chan struct{})}
	s.streams <- st
	for {
		select {
		case event := <-st.say:
			tell(event)
		case <-st.end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// notification is one of a subscription; id "": of none.
func notification(method, id, more string) string {
	meta := ""
	if id != "" {
		meta = `"io.modelcontextprotocol/subscriptionId":` + id
	}
	return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":{"_meta":{` + meta + `}` + more + `}}`
}

func (s *telling) set(tools ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *telling) saw() (lists int, subscriptions []asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, slices.Clone(s.asked)
}

func (s *telling) next(t *testing.T) *stream {
	t.Helper()
	select {
	case st := <-s.streams:
		return st
	case <-time.After(10 * time.Second):
		t.Fatal("nobody subscribed")
		return nil
	}
}

func names(t *testing.T, c *mcp.Client, s *router.Server) string {
	t.Helper()
	d, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, tool := range d.Tools {
		all = append(all, tool.Name)
	}
	return strings.Join(all, " ")
}
