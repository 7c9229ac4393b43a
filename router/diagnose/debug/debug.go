package debug

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// What is asked and answered.
const (
	Method        = "dev.junction/debug"
	Notification  = "notifications/dev.junction/debug"
	MetaKey       = "dev.junction/debug"
	HeaderAsk     = "X-MCP-Debug"
	HeaderArrived = "X-MCP-Debug-Arrived"
	Events        = 3
	Every         = 100 * time.Millisecond
	LongestQuiet  = 5 * time.Minute
)

// maxRequest bounds what of a request is looked at; those for this package are short.
const maxRequest = 4 << 10

// Event is the parameters of a notification.
type Event struct {
	N    int   `json:"n"`
	Of   int   `json:"of"`
	AtMS int64 `json:"at_ms"` // since the first
}

// Report is what arrived, in a result's _meta.
type Report struct {
	Headers map[string]string `json:"headers"` // of the families X-MCP-* and Mcp-*
	Passed  []string          `json:"passed"`  // names of headers that proxies add
	AtMS    int64             `json:"at_ms"`   // since the first event
}

// Params are those of the method.
type Params struct {
	QuietMS int64 `json:"quiet_ms,omitempty"`
}

// plain are headers whose values say nothing secret.
var plain = []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Mcp-Debug", "X-Mcp-Timeout-Seconds"}

// proxied are headers that proxies add.
var proxied = []string{"Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "X-Envoy-External-Address", "Cf-Ray"}

// Handler serves next and answers who asks what arrived.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.EqualFold(r.Header.Get(HeaderAsk), "true") {
			w.Header().Set(HeaderArrived, strings.Join(names(r.Header), ", "))
		}
		if id, params, ok := asked(r); ok {
			answer(w, r, id, params)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// asked reports whether a request is for this package. Of any other the body is
// whole afterwards.
func asked(r *http.Request) (id json.RawMessage, p Params, ok bool) {
	if r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > maxRequest {
		return nil, p, false
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	r.Body = rest{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if err != nil || !bytes.Contains(body, []byte(Method)) {
		return nil, p, false
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params Params          `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil || m.Method != Method || len(m.ID) == 0 {
		return nil, p, false
	}
	return m.ID, m.Params, true
}

// rest is a body of which a part was read before.
type rest struct {
	io.Reader
	io.Closer
}

func answer(w http.ResponseWriter, r *http.Request, id json.RawMessage, p Params) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "this answer cannot be streamed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	quiet := min(max(0, time.Duration(p.QuietMS)*time.Millisecond), LongestQuiet)
	began := time.Now()
	for n := range Events {
		event := Event{N: n + 1, Of: Events, AtMS: time.Since(began).Milliseconds()}
		if send(w, map[string]any{"jsonrpc": "2.0", "method": Notification, "params": event}) != nil {
			return // nobody is left to hear it
		}
		flusher.Flush()
		wait := Every
		if n == Events-1 {
			wait += quiet
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	report := arrived(r.Header)
	report.AtMS = time.Since(began).Milliseconds()
	_ = send(w, map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{ // as above
		"resultType": "complete", "_meta": map[string]any{MetaKey: report},
	}})
}

func send(w io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
	return err
}

func arrived(h http.Header) Report {
	r := Report{Headers: map[string]string{}, Passed: []string{}}
	for _, name := range names(h) {
		r.Headers[name] = Value(name, h.Get(name))
	}
	for _, name := range proxied {
		if h.Get(name) != "" {
			r.Passed = append(r.Passed, name)
		}
	}
	return r
}

// Value is a header's value as it is told: a digest where it may be a credential.
func Value(name, value string) string {
	if slices.Contains(plain, http.CanonicalHeaderKey(name)) && len(value) <= 128 {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// Ours reports whether a header is of the families X-MCP-* and Mcp-*.
func Ours(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "x-mcp-") || strings.HasPrefix(name, "mcp-")
}

// mostNames bounds what is told of a request's headers.
const mostNames = 64

// names are those of our families, canonical and in order.
func names(h http.Header) []string {
	var all []string
	for name := range h {
		if Ours(name) && len(name) <= 128 {
			all = append(all, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(all)
	return all[:min(len(all), mostNames)]
}
