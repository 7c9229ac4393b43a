package diagnose

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// endpoint judges what answered at the address.
func (p *patient) endpoint(ctx context.Context) bool {
	l, r := p.layer(Endpoint), p.hello.last
	took := p.hello.discover.took
	if r != p.hello.discover {
		took += r.took
	}
	if plain := p.hello.discover; plain.tls != nil && plain.tls.err != nil {
		if _, notTLS := errors.AsType[tls.RecordHeaderError](plain.tls.err); notTLS {
			return p.wrongScheme(l, "the port answers in plain text, and not in TLS", "http")
		}
		p.noTLS(plain.tls.err)
		return false
	}
	if r.err != nil && strings.Contains(r.err.Error(), "remote error: tls: ") { // after the handshake, in TLS 1.3
		p.noTLS(r.err)
		return false
	}
	if r.err == nil && p.isEndpoint(r) {
		l.pass(took, "HTTP %d%s%s", r.status, inMedia(r), proto(r))
		if p.hello.discover.hangs() {
			l.add(warned("it leaves a method that it does not know without an answer (server/discover), so that every connection begins with a wait",
				"have it answer with the error -32601, as JSON-RPC wants"))
		}
		return true
	}
	if p.url.Scheme == "http" && p.speaksTLS(ctx) && (r.err != nil || r.status == http.StatusBadRequest) {
		return p.wrongScheme(l, "the port speaks TLS, and was asked in plain text", "https")
	}
	l.pass(took, "")
	switch {
	case r.err != nil:
		l.add(p.silent(r))
	case r.status/100 == 3:
		l.add(p.redirected(r))
	case r.status == http.StatusTooManyRequests, r.status >= 500:
		l.add(p.troubled(r))
	default:
		l.add(p.elsewhere(ctx, r))
	}
	return false
}

// isEndpoint reports whether an answer is an MCP server's, whatever it says.
func (p *patient) isEndpoint(r *reply) bool {
	switch {
	case r.speaks(), r.refuses(), p.hello.discover.speaks():
		return true
	case r.status/100 == 2 && r.status != http.StatusNoContent:
		return r.media == "application/json" || r.media == "text/event-stream"
	}
	return false
}

func inMedia(r *reply) string {
	if r.media == "" {
		return ""
	}
	return " " + clean(r.media)
}

func proto(r *reply) string {
	if via := r.header.Get("Via"); via != "" {
		return ", via " + clean(via)
	}
	return ""
}

func (p *patient) wrongScheme(l *Layer, cause, scheme string) bool {
	right := *p.url
	right.Scheme, right.User, right.RawQuery, right.Fragment = scheme, nil, "", ""
	l.pass(p.hello.discover.took, "")
	l.add(p.rather(cause, "write "+scheme+":// in its url", bareURL(&right)))
	return false
}

// speaksTLS reports whether the port does.
func (p *patient) speaksTLS(ctx context.Context) bool {
	if p.via != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	address := p.url.Hostname()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: address}} // nothing is sent
	conn, err := dialer.DialContext(ctx, "tcp", joinPort(p.url))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// silent is about no answer at all.
func (p *patient) silent(r *reply) Trouble {
	text := p.mask(r.err.Error())
	switch {
	case errors.Is(r.err, context.DeadlineExceeded):
		return failed(fmt.Sprintf("it accepts connections, and does not answer within %s", brief(p.o.Patience)),
			"the process hangs, or is overwhelmed: look at its log and load, restart it; see that the port is the MCP server's")
	case strings.Contains(text, "malformed HTTP"), strings.Contains(text, "readLoopPeekFailLocked"): // it spoke before it was asked
		return failed("what answers does not speak HTTP", "the port is another service's: correct it in the url")
	case errors.Is(r.err, io.EOF), errors.Is(r.err, io.ErrUnexpectedEOF), strings.Contains(text, "EOF"), strings.Contains(text, "connection reset"):
		return failed("it closes the connection without an answer", "look at the server's log: it may crash on requests, or the port is another service's")
	}
	return failed("no HTTP answer: "+text, "see that the port is that of an MCP server over Streamable HTTP, and look at its log")
}

func (p *patient) redirected(r *reply) Trouble {
	said := r.header.Get("Location")
	to, err := p.url.Parse(said)
	if said == "" || err != nil {
		return failed(fmt.Sprintf("it redirects (HTTP %d) and does not say where to", r.status), "correct the path in its url")
	}
	cause := fmt.Sprintf("it redirects (HTTP %d) to %s", r.status, bareURL(to))
	same := to.Scheme == p.url.Scheme && strings.EqualFold(to.Host, p.url.Host)
	switch {
	case same && strings.Contains(strings.ToLower(to.Path), "login"):
		return failed(cause+": a page where people log in", "the path is not the MCP endpoint's, or a proxy in front asks for its own login: have it let the path through")
	case same:
		return p.rather(cause, "write that in its url: it is not followed, since a POST may become a GET", bareURL(to))
	case to.Scheme == "https" && strings.EqualFold(to.Hostname(), p.url.Hostname()):
		return p.rather(cause, "write https:// in its url", bareURL(to))
	}
	return p.rather(cause+", which is another origin: credentials would go there, so it is not followed",
		"if that is the server, write it in its url; if not, whoever answers here is not the server", bareURL(to))
}

func (p *patient) troubled(r *reply) Trouble {
	after := ""
	if v := r.header.Get("Retry-After"); v != "" {
		after = ", which asks to wait for " + clean(v) + " s"
	}
	said := p.says(r)
	switch r.status {
	case http.StatusTooManyRequests:
		return failed("it refuses to answer now: "+said+after, "wait, or have its limit raised: other callers may use it up")
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return failed("something in front of the server answers in its place: "+said+after, "the server behind it is down, starting or too slow: look at its log, and at the proxy's upstream address")
	}
	return failed("it fails: "+said, "look at the server's log")
}

// places are paths at which MCP servers are usually found.
var places = []string{"/mcp", "/mcp/", "/", "/api/mcp", "/v1/mcp", "/sse"}

// elsewhere is about an address that answers, and is no MCP endpoint; others are
// tried.
func (p *patient) elsewhere(ctx context.Context, r *reply) Trouble {
	page := r.media == "text/html" || strings.HasPrefix(strings.TrimSpace(string(r.body)), "<")
	var cause string
	switch {
	case r.status == http.StatusNotFound, r.status == http.StatusGone:
		cause = fmt.Sprintf("there is nothing at the path %s (HTTP %d)", quoted(p.url.EscapedPath()), r.status)
	case r.status == http.StatusMethodNotAllowed:
		cause = fmt.Sprintf("the path %s takes no POST (HTTP 405", quoted(p.url.EscapedPath()))
		if allow := r.header.Get("Allow"); allow != "" {
			cause += "; it allows " + clean(allow)
		}
		cause += ")"
	case page:
		cause = fmt.Sprintf("a web page answers (HTTP %d, HTML), and no MCP server", r.status)
	default:
		cause = fmt.Sprintf("what answers is no MCP server: HTTP %d%s", r.status, inMedia(r))
		if said := p.excerpt(r); said != "" {
			cause += ", " + said
		}
	}
	if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed && r.status/100 == 4 && !page {
		return failed(cause, "it refuses what MCP clients send: see to what stands in front of the server, and to its log")
	}
	found, old := p.search(ctx)
	switch {
	case found != nil:
		return p.rather(cause+"; an MCP server answers at "+bareURL(found), "write that in its url", bareURL(found))
	case old != nil:
		return failed(cause+"; at "+bareURL(old)+" there is a server of the transport HTTP+SSE of 2024, which is not spoken here",
			"have the server speak Streamable HTTP: since 2025 its libraries do; or run it over stdio")
	}
	return failed(cause, "correct the path in its url: usual ones ("+strings.Join(places[:3], ", ")+") have no MCP server either")
}

// search looks for an MCP server at the usual paths of the same origin.
func (p *patient) search(ctx context.Context) (found, old *url.URL) {
	type look struct {
		at       *url.URL
		mcp, old bool
	}
	looks := make([]look, len(places))
	var wg sync.WaitGroup
	for i, place := range places {
		u := &url.URL{Scheme: p.url.Scheme, Host: p.url.Host, Path: place}
		looks[i].at = u
		if place == p.url.Path {
			continue
		}
		other := &patient{server: p.server, o: p.o, url: u, bare: p.bare}
		wg.Go(func() {
			g := other.greet(ctx, other.bareDo)
			looks[i].mcp = g.last.err == nil && (g.last.speaks() || g.discover.speaks())
			other.farewell(ctx, other.bareDo, g)
		})
	}
	wg.Go(func() { looks[len(looks)-1].old = p.streams(ctx, looks[len(looks)-1].at) })
	var here look
	wg.Go(func() { here = look{at: p.url, old: p.streams(ctx, p.url)} })
	wg.Wait()
	for _, l := range looks {
		if l.mcp {
			return l.at, nil
		}
	}
	for _, l := range slices.Concat([]look{here}, looks) {
		if l.old {
			return nil, l.at
		}
	}
	return nil, nil
}

// streams reports whether a GET opens an event stream, as in the transport of 2024.
func (p *patient) streams(ctx context.Context, u *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := p.bareDo(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
}
