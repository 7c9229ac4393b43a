package diagnose_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router/diagnose"
)

func TestAServerThatForgetsItsSessionsIsTheSessions(t *testing.T) {
	t.Parallel()
	forgets := &scripted{legacy: true, first: func(w http.ResponseWriter, r *http.Request, method string) bool {
		if r.Header.Get("Mcp-Session-Id") == "" || r.Method == http.MethodDelete {
			return false
		}
		http.Error(w, "session hunter-session not found", http.StatusNotFound)
		return true
	}}
	r := diagnosed(t, at(serve(t, forgets)), nil)
	blames(t, r, diagnose.Session, "gives a session id, and does not know it in the next request", "HTTP 404")
	has(t, r, "pprpfrm")
	if strings.Contains(shown(r), "hunter") {
		t.Error("a session's id is shown")
	}
}

// replica has sessions of its own.
func replica(known *sync.Map) *scripted {
	return &scripted{legacy: true, first: func(w http.ResponseWriter, r *http.Request, method string) bool {
		id := r.Header.Get("Mcp-Session-Id")
		if _, ok := known.Load(id); id == "" || ok || r.Method == http.MethodDelete {
			return false
		}
		http.Error(w, "no such session", http.StatusNotFound)
		return true
	}}
}

func TestReplicasWithoutStickinessAreTheSessions(t *testing.T) {
	t.Parallel()
	var turn, sessions atomic.Int32
	var known [2]sync.Map
	replicas := [2]http.Handler{replica(&known[0]), replica(&known[1])}
	r := diagnosed(t, at(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(turn.Add(1)) % 2
		replicas[n].ServeHTTP(named{w, func(h http.Header) {
			if h.Get("Mcp-Session-Id") != "" {
				id := fmt.Sprintf("hunter-session-%d", sessions.Add(1))
				known[n].Store(id, true)
				h.Set("Mcp-Session-Id", id)
			}
		}}, r)
	}))), nil)
	blames(t, r, diagnose.Session, "replicas that share no sessions", "http_mcp_session_id")
}

// named changes the header of an answer before it leaves.
type named struct {
	http.ResponseWriter
	change func(http.Header)
}

// Write is called once for each of the fixture's answers.
func (n named) Write(p []byte) (int, error) {
	n.change(n.Header())
	return n.ResponseWriter.Write(p)
}

func TestAReplicaThatIsIllIsTheSessions(t *testing.T) {
	t.Parallel()
	var again atomic.Int32
	s := &scripted{first: func(w http.ResponseWriter, r *http.Request, method string) bool {
		if r.Close && again.Add(1)%2 == 0 {
			http.Error(w, "upstream", http.StatusBadGateway)
			return true
		}
		return false
	}}
	blames(t, diagnosed(t, at(serve(t, s)), nil), diagnose.Session, "fails now and then; it refused 2 of 4 requests", "HTTP 502")
}

func TestASessionOfARealServerHolds(t *testing.T) {
	t.Parallel()
	inner := mcpserver.NewStreamableHTTPServer(reviewer())
	r := diagnosed(t, at(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" { // a server of before
			http.Error(w, "unknown method", http.StatusBadRequest)
			return
		}
		inner.ServeHTTP(w, r)
	}))), nil)
	has(t, r, "ppppppm")
	if l := r.Layer(diagnose.Session); !strings.Contains(l.Saw, "session id known in 4 further requests") {
		t.Error(l.Saw)
	}
}

func TestADocumentThatChangesAtEachReadingIsTheHashs(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	changing := func() string {
		return fmt.Sprintf(`[{"name":"review","description":"as of %d","inputSchema":{"type":"object"}}]`, n.Add(1))
	}
	r := diagnosed(t, at(serve(t, &scripted{tools: changing})), nil)
	blames(t, r, diagnose.ContextHash, "tool review has another description")
	has(t, r, "pppppfm")
}

func TestALimitOfRequestsIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := &scripted{legacy: true, first: func(w http.ResponseWriter, r *http.Request, method string) bool {
		if method == "ping" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return method == "ping"
	}}
	has(t, diagnosed(t, at(serve(t, s)), nil), "ppppwpm")
}
