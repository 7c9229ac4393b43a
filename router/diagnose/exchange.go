package diagnose

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// doer makes one HTTP exchange.
type doer func(*http.Request) (*http.Response, error)

// unchecked is a client that takes any certificate and shows no credential.
func unchecked(u *url.URL, config *tls.Config, patience time.Duration) *http.Client {
	name := u.Hostname()
	if config != nil && config.ServerName != "" {
		name = config.ServerName
	}
	dialer := &net.Dialer{Timeout: patience, Control: refuseMetadata}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			// Its certificate is judged apart, and nothing is shown to it meanwhile.
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true, ServerName: name, MinVersion: tls.VersionTLS10},
			TLSHandshakeTimeout: patience, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 256 << 10,
		},
	}
}

func refuseMetadata(_, address string, _ syscall.RawConn) error {
	if ap, err := netip.ParseAddrPort(address); err == nil && router.ServesMetadata(ap.Addr()) {
		return errLinkLocal
	}
	return nil
}

// bareDo makes an exchange without credentials, those of the URL included.
func (p *patient) bareDo(req *http.Request) (*http.Response, error) {
	u := *req.URL
	u.User = nil
	req.URL = &u
	resp, err := p.bare.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, nil
}

// reply is what came back to one request.
type reply struct {
	method  string
	id      string // of the request
	err     error  // no answer, or none to its end
	status  int    // 0: no answer
	header  http.Header
	media   string
	body    []byte      // of an event stream: the event that is the answer
	tls     *handshaken // nil: no TLS
	message *message    // the JSON-RPC answer; nil: there is none
	why     string      // there is none
	took    time.Duration
	ended   time.Time         // of the reading
	arrived []time.Time       // of the events, the answer included
	events  []json.RawMessage // before the answer
}

// handshaken is how the TLS handshake of a connection ended.
type handshaken struct {
	state tls.ConnectionState
	err   error
}

type message struct {
	ID     json.RawMessage               `json:"id"`
	Method string                        `json:"method"`
	Params json.RawMessage               `json:"params"`
	Result json.RawMessage               `json:"result"`
	Error  *protocol.JSONRPCErrorDetails `json:"error"`
}

// maxBody bounds what is read of one answer.
const maxBody = 4 << 20

// request is one JSON-RPC request to be posted.
type request struct {
	method string
	params string // a JSON object
	header map[string]string
	alone  bool // on a connection of its own
	within time.Duration
}

// post makes one exchange and reads what came back until the answer's end.
func (p *patient) post(ctx context.Context, do doer, r request) *reply {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience+r.within)
	defer cancel()
	// A server may refuse an id that is in flight already.
	out := &reply{method: r.method, id: strconv.FormatInt(p.ids.Add(1), 10)}
	began := time.Now()
	defer func() {
		out.ended = time.Now()
		out.took = out.ended.Sub(began)
	}()
	var mu sync.Mutex // the trace may speak later than the request ends
	var hand *handshaken
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(s tls.ConnectionState, err error) {
		mu.Lock()
		defer mu.Unlock()
		hand = &handshaken{s, err}
	}})
	body := `{"jsonrpc":"2.0","id":` + out.id + `,"method":"` + r.method + `","params":` + r.params + `}`
	if strings.HasPrefix(r.method, "notifications/") {
		body = `{"jsonrpc":"2.0","method":"` + r.method + `","params":` + r.params + `}`
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), strings.NewReader(body))
	if err != nil {
		out.err = err
		return out
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	req.Close = r.alone
	resp, err := do(req)
	mu.Lock()
	out.tls = hand
	mu.Unlock()
	if err != nil {
		out.err = err
		return out
	}
	defer resp.Body.Close()
	if resp.TLS != nil {
		out.tls = &handshaken{state: *resp.TLS}
	}
	out.status, out.header = resp.StatusCode, resp.Header
	out.media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type")) //nolint:errcheck // then it is none of ours
	if out.media == "text/event-stream" {
		out.readEvents(resp.Body)
	} else {
		out.readWhole(resp.Body)
	}
	return out
}

func (r *reply) readWhole(body io.Reader) {
	var err error
	r.body, err = io.ReadAll(io.LimitReader(body, maxBody+1))
	switch {
	case len(r.body) > maxBody:
		r.body, r.why = nil, "the answer is larger than 4 MiB"
	case err != nil && len(r.body) == 0:
		r.err = err
	default:
		r.understand(r.body)
		if err != nil && r.message == nil {
			r.why = fmt.Sprintf("the answer breaks off after %s", counted(len(r.body), "byte"))
		}
	}
}

// understand takes an answer for what it is.
func (r *reply) understand(body []byte) {
	trimmed := bytes.TrimSpace(body)
	var m message
	err := json.Unmarshal(trimmed, &m)
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case len(trimmed) == 0:
		r.why = "the answer is empty"
	case isSyntax && trimmed[0] != '{' && trimmed[0] != '[':
		r.why = "the answer is no JSON: it begins with " + quoted(string(trimmed[:min(len(trimmed), 40)]))
	case isSyntax && syntax.Offset >= int64(len(trimmed)):
		r.why = fmt.Sprintf("the answer is half a JSON document: it ends after %s, in the middle", counted(len(body), "byte"))
	case isSyntax:
		r.why = fmt.Sprintf("the answer is no JSON: %s at byte %d", clean(syntax.Error()), syntax.Offset)
	case err != nil:
		r.why = "the answer is JSON, and no JSON-RPC message"
	case len(m.Result) == 0 && m.Error == nil:
		r.why = "the answer is JSON, and holds neither a result nor an error"
	case string(m.ID) != r.id && (m.Error == nil || len(m.ID) > 0 && string(m.ID) != "null"):
		r.why = "the answer carries the id of another request, " + quoted(string(m.ID))
	default:
		r.message = &m
	}
}

// answered reports whether a JSON-RPC result came.
func (r *reply) answered() bool {
	return r != nil && r.err == nil && r.status/100 == 2 && r.message != nil && r.message.Error == nil
}

// speaks reports whether a JSON-RPC answer came, of whatever kind.
func (r *reply) speaks() bool { return r != nil && r.message != nil }

// refuses reports whether the answer refuses whoever asked.
func (r *reply) refuses() bool {
	return r != nil && (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden)
}

// hangs reports whether no answer began within the time for it.
func (r *reply) hangs() bool { return r.status == 0 && errors.Is(r.err, context.DeadlineExceeded) }

// says is what an answer that is no result says, for people.
func (p *patient) says(r *reply) string {
	switch {
	case r.err != nil:
		return p.mask(why(r.err))
	case r.message != nil && r.message.Error != nil:
		return fmt.Sprintf("HTTP %d, error %d: %s", r.status, r.message.Error.Code, p.mask(r.message.Error.Message))
	case r.why != "" && r.status/100 == 2:
		return p.mask(r.why)
	}
	text := fmt.Sprintf("HTTP %d", r.status)
	if said := p.excerpt(r); said != "" {
		text += ", " + said
	}
	return text
}

// excerpt is the beginning of an answer that is short text.
func (p *patient) excerpt(r *reply) string {
	body := strings.TrimSpace(string(r.body))
	if body == "" || len(body) > 300 || strings.HasPrefix(body, "<") {
		return ""
	}
	return quoted(p.mask(body))
}

// mask removes credentials and what may drive a terminal.
func (p *patient) mask(text string) string {
	for _, g := range []*greeting{p.hello, p.known} {
		if g != nil && len(g.session) > 5 {
			text = strings.ReplaceAll(text, g.session, "[masked]")
		}
	}
	if p.courier == nil {
		return clean(text)
	}
	return clean(p.courier.Mask(text))
}
