package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router/mcp"
)

// changing is a server by hand whose tools and version are the test's to change.
type changing struct {
	modern bool

	mu         sync.Mutex
	version    string
	tools      string
	flaps      bool // another list at each reading
	handshakes int
	lists      int
}

func (s *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, is := incoming(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	info := `{"name":"raw","version":"` + s.version + `"}`
	switch {
	case is("server/discover") && s.modern:
		s.handshakes++
		answer(w, id, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":`+info+`}}`)
	case is("server/discover"):
		rpc(-32601)(w, r, id)
	case is("initialize"):
		s.handshakes++
		w.Header().Set("Mcp-Session-Id", "s"+strconv.Itoa(s.handshakes))
		answer(w, id, `{"protocolVersion":"2025-11-25","serverInfo":`+info+`,"capabilities":{"tools":{}}}`)
	case is("tools/list"):
		s.lists++
		tools := s.tools
		if s.flaps {
			tools = `{"name":"t` + strconv.Itoa(s.lists) + `","inputSchema":{"type":"object"}}`
		}
		answer(w, id, `{"tools":[`+tools+`]}`)
	case id == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		answer(w, id, fine)
	}
}

// incoming reads a request: its id, and whether it is of a method.
func incoming(r *http.Request) (id string, is func(method string) bool) {
	body, _ := io.ReadAll(r.Body)
	return string(idOf(body)), func(method string) bool { return bytes.Contains(body, []byte(`"method":"`+method+`"`)) }
}

func (s *changing) change(version, tools string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.tools = version, tools
}

func (s *changing) saw() (handshakes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handshakes
}

const (
	echoTool  = `{"name":"echo","inputSchema":{"type":"object"}}`
	otherEcho = `{"name":"echo","inputSchema":{"type":"object","required":["text"]}}`
)

// drifts collects what OnDrift is told.
type drifts struct {
	mu  sync.Mutex
	all []string
}

func (d *drifts) note(server string, sameVersion bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, server+" "+strconv.FormatBool(sameVersion))
}

func (d *drifts) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.all, ", ")
}

func TestASchemaChangedUnderTheSameVersionMakesTheSessionAnew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		modern  bool
		version string // after the change
		want    string
	}{
		{"the earlier era", false, "1", "srv-http true"},
		{"the later era", true, "1", "srv-http true"},
		{"with another version", false, "2", "srv-http false"},
		{"with another version, the later era", true, "2", "srv-http false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &changing{modern: tt.modern, version: "1", tools: echoTool}
			s, _ := raw(t, h)
			var told drifts
			c := newClient(t, &mcp.Options{Revalidate: time.Nanosecond, OnDrift: told.note})
			before, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := c.Describe(t.Context(), s); err != nil || same.Session.ID != before.Session.ID || told.String() != "" {
				t.Fatalf("nothing changed: %v, %v, %q", same, err, told.String())
			}
			h.change(tt.version, otherEcho)
			after, err := c.Describe(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if after.Session.ID == before.Session.ID || after.Fingerprint == before.Fingerprint || after.Version != tt.version || h.saw() != 2 {
				t.Errorf("session %t new, fingerprint %t new, version %s, %d handshakes", after.Session.ID != before.Session.ID,
					after.Fingerprint != before.Fingerprint, after.Version, h.saw())
			}
			if told.String() != tt.want || c.Drifts(s.ID) != 1 {
				t.Errorf("told %q, %d counted", told.String(), c.Drifts(s.ID))
			}
		})
	}
}

func TestANewSessionIsHeldAgainstTheLastOne(t *testing.T) {
	t.Parallel()
	h := &changing{version: "1", tools: echoTool}
	var refuse sync.Map
	s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			if _, gone := refuse.Load(id); gone {
				w.WriteHeader(http.StatusNotFound)
				return
			}
		}
		h.ServeHTTP(w, r)
	}))
	var told drifts
	c := newClient(t, &mcp.Options{OnDrift: told.note})
	if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
		t.Fatal(err)
	}
	refuse.Store("s1", true) // the server restarts, and is the same
	if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil {
		t.Fatal(err)
	}
	if told.String() != "" || h.saw() != 2 {
		t.Fatalf("told %q, %d handshakes", told.String(), h.saw())
	}
	h.change("1", otherEcho)
	refuse.Store("s2", true)
	if _, err := c.Call(t.Context(), s, call("echo", map[string]any{"text": "x"})); err != nil {
		t.Fatal(err)
	}
	if told.String() != "srv-http true" || h.saw() != 3 {
		t.Errorf("told %q, %d handshakes", told.String(), h.saw())
	}
}

func TestAServerThatNeverSaysTheSameIsNotMadeAnewEachTime(t *testing.T) {
	t.Parallel()
	h := &changing{version: "1", flaps: true}
	s, _ := raw(t, h)
	var told drifts
	c := newClient(t, &mcp.Options{Revalidate: time.Nanosecond, OnDrift: told.note})
	began := time.Now()
	for range 20 {
		if _, err := c.Describe(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if h.saw() != 2 {
		t.Errorf("%d handshakes, want 2", h.saw())
	}
	if n := c.Drifts(s.ID); n < 2 || n > 8+uint64(time.Since(began)/time.Second) { // the pace of readings bounds them
		t.Errorf("%d changes counted: %s", n, told.String())
	}
}

func TestAChildIsNotRestartedForAChange(t *testing.T) {
	t.Parallel()
	s := stdioServer(t, "legacy")
	var told drifts
	c := newClient(t, &mcp.Options{OnDrift: told.note})
	before, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Call(t.Context(), s, call("grow", nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change is counted", func() bool {
		_, err := c.Describe(t.Context(), s)
		return err == nil && c.Drifts(s.ID) == 1
	})
	after, err := c.Describe(t.Context(), s)
	if err != nil || after.Session.ID != before.Session.ID || after.Session.ContextHash == before.Session.ContextHash || told.String() != s.ID+" true" {
		t.Errorf("%+v, %v; told %q", after, err, told.String())
	}
}
