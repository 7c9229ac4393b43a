package hostiletest

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// response is the answer to one POST: one JSON document, or an event stream where
// the fault takes more than one message.
type response struct {
	w      http.ResponseWriter
	r      *http.Request
	events bool
	begun  bool
	unsaid bool // an event's beginning has been sent
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.Method == "" && s.Fault == RefusesAnswers {
		select {
		case s.cancel("answer") <- struct{}{}:
		default:
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if len(m.ID) == 0 || m.Method == "" {
		s.serve(&m, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "initialize" && s.Fault == LosesSessions {
		w.Header().Set("Mcp-Session-Id", "session-of-"+s.ID)
	}
	s.serve(&m, &response{w: w, r: r, events: s.streams(&m)})
}

// streams reports whether an answer is an event stream.
func (s *Server) streams(m *message) bool {
	if m.Method != "tools/call" {
		return false
	}
	switch s.Fault {
	case Twice, Stray, Asks, FloodsProgress, FloodsThenEnds, FallingProgress, ForeignProgress, HugeEvent, EndlessComments, EndsWithoutAnswer, RefusesAnswers, AsksPeople:
		return true
	}
	return false
}

func (v *response) header() {
	if v.begun {
		return
	}
	v.begun = true
	kind := "application/json"
	if v.events {
		kind = "text/event-stream"
	}
	v.w.Header().Set("Content-Type", kind)
}

func (v *response) write(text string) {
	v.header()
	io.WriteString(v.w, text) //nolint:errcheck // whoever does not listen hears nothing
}

func (v *response) flush() { http.NewResponseController(v.w).Flush() } //nolint:errcheck // see write

func (v *response) say(text string) {
	if v.events {
		v.write("data: " + text + "\n\n")
		v.flush()
		return
	}
	v.write(text)
}

func (v *response) begin(text string) {
	if v.events && !v.unsaid {
		v.unsaid = true
		text = "data: " + text
	}
	v.write(text)
	v.flush()
}

func (v *response) end() {
	if v.unsaid {
		v.write("\n\n")
	}
}

func (v *response) gone() <-chan struct{} { return v.r.Context().Done() }

func (v *response) status(code int, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		v.w.Header().Set(pairs[i], pairs[i+1])
	}
	v.w.WriteHeader(code)
}

func (v *response) misdeed(f Fault, m *message, answer string) {
	switch f {
	case Dropped, Killed:
		v.drop(f == Killed)
	case Unauthorized:
		v.status(http.StatusUnauthorized, "WWW-Authenticate", `Frobnicate realm="x", nonce="y"`)
	case TooMany:
		v.status(http.StatusTooManyRequests)
	case LosesSessions:
		v.status(http.StatusNotFound)
	case Unavailable:
		v.status(http.StatusServiceUnavailable)
	case UnavailableLater:
		v.status(http.StatusServiceUnavailable, "Retry-After", "1")
	case BadGateway:
		v.status(http.StatusBadGateway)
	case Redirects:
		v.status(http.StatusTemporaryRedirect, "Location", answer+"/mcp")
	case Compressed:
		v.compressed(m)
	case HugeHeader:
		v.hugeHeader()
	case Dribbles:
		v.dribble(answer)
	case EndlessComments:
		v.comments()
	case EndsWithoutAnswer:
		v.write(": nothing\n\n")
	default:
		v.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not over HTTP"}}`, m.ID))
	}
}

// drop closes the connection under the answer; hard: with a reset.
func (v *response) drop(hard bool) {
	conn, buf, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	buf.Flush() //nolint:errcheck // see write
	if tcp, ok := conn.(*net.TCPConn); ok && hard {
		tcp.SetLinger(0) //nolint:errcheck // it then closes without a reset
	}
	conn.Close() //nolint:errcheck // nothing more is to be said
}

func (v *response) compressed(m *message) {
	v.w.Header().Set("Content-Encoding", "gzip")
	v.header()
	z := gzip.NewWriter(v.w)
	fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
	for range hugeMegabytes {
		if _, err := io.WriteString(z, megabyte); err != nil {
			return
		}
	}
	io.WriteString(z, `"}]}}`) //nolint:errcheck // see write
	z.Close()                  //nolint:errcheck // see write
}

// hugeHeader is written by hand: net/http would hold it.
func (v *response) hugeHeader() {
	conn, buf, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	buf.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n") //nolint:errcheck // see write
	for n := range 64 {
		if _, err := fmt.Fprintf(buf, "X-%d: %s\r\n", n, megabyte); err != nil {
			return
		}
	}
	buf.Flush() //nolint:errcheck // see write
}

func (v *response) dribble(answer string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, part := range strings.Split(answer, "") {
		v.begin(part)
		select {
		case <-tick.C:
		case <-v.gone():
			return
		}
	}
}

func (v *response) comments() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		v.write(": still here\n\n")
		v.flush()
		select {
		case <-tick.C:
		case <-v.gone():
			return
		}
	}
}
