package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// Gateway is the HTTP side. Close ends the servers behind it.
type Gateway struct {
	command  []string
	errs     io.Writer
	sessions bool

	mu        sync.Mutex
	processes map[string]*process // by session; "" is the one of all
	closed    bool
}

// New returns a gateway to a server that command starts, with a process for each
// session or one for all. errs takes what the servers say on their standard error.
func New(command []string, sessions bool, errs io.Writer) *Gateway {
	return &Gateway{command: command, sessions: sessions, errs: errs, processes: map[string]*process{}}
}

// Close ends the servers, all at once.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.closed = true
	all := g.processes
	g.processes = nil
	g.mu.Unlock()
	var ends sync.WaitGroup
	for _, p := range all { // each by itself: the order is nobody's
		ends.Go(p.close)
	}
	ends.Wait()
}

// started returns the session's server, which it starts where the session is new.
func (g *Gateway) started(session string) (*process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errGone
	}
	if p := g.processes[session]; p != nil {
		return p, nil
	}
	p, err := start(g.command, g.errs)
	if err != nil {
		return nil, err
	}
	g.processes[session] = p
	return p, nil
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r) {
		http.Error(w, "this gateway serves the machine that it runs on", http.StatusForbidden)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		g.post(w, r)
	case g.sessions && r.Method == http.MethodGet:
		if p := g.session(w, r); p != nil {
			follow(w, r, p.standing, nil)
		}
	case g.sessions && r.Method == http.MethodDelete:
		if p := g.session(w, r); p != nil {
			g.mu.Lock()
			delete(g.processes, r.Header.Get(headerSession))
			g.mu.Unlock()
			p.close()
			w.WriteHeader(http.StatusNoContent)
		}
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// local reports whether host and origin are this machine: a page from elsewhere can
// name this address, and cannot say that it comes from here.
func local(r *http.Request) bool {
	names := []string{r.Host}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil {
			return false
		}
		names = append(names, u.Host)
	}
	for _, name := range names {
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		if name != "localhost" && !net.ParseIP(name).IsLoopback() {
			return false
		}
	}
	return true
}

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// session returns the server of the session that r names; nil: it was refused.
func (g *Gateway) session(w http.ResponseWriter, r *http.Request) *process {
	id := r.Header.Get(headerSession)
	if id == "" {
		http.Error(w, headerSession+" is missing", http.StatusBadRequest)
		return nil
	}
	g.mu.Lock()
	p := g.processes[id]
	g.mu.Unlock()
	if p == nil {
		http.Error(w, "there is no such session", http.StatusNotFound)
	}
	return p
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	m, err := parse(text)
	if err != nil {
		refuse(w, http.StatusBadRequest, nil, -32700, "the body is no message")
		return
	}
	var p *process
	switch {
	case !g.sessions:
		if p, err = g.started(""); err != nil {
			break
		}
		if why := disagrees(r.Header, m, p.repeats(textOf(m.at("params", "name")))); why != "" {
			refuse(w, http.StatusBadRequest, m["id"], -32020, why)
			return
		}
	case m.text("method") == "initialize" && r.Header.Get(headerSession) == "":
		id := rand.Text()
		w.Header().Set(headerSession, id)
		p, err = g.started(id)
	default:
		if p = g.session(w, r); p == nil {
			return
		}
	}
	if err == nil && m.request() {
		g.serve(w, r, p, m)
		return
	}
	if err == nil && m.text("method") == "notifications/cancelled" {
		err = p.cancel(r.Context(), m)
	} else if err == nil {
		err = p.send(r.Context(), m)
	}
	if err != nil {
		refuse(w, http.StatusBadGateway, m["id"], -32603, err.Error())
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// serve hands a request on and streams what belongs to it, to its answer.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, p *process, m message) {
	x, err := p.ask(r.Context(), m)
	if err != nil {
		refuse(w, http.StatusBadGateway, m["id"], -32603, err.Error())
		return
	}
	status := func(message) int { return http.StatusOK }
	if !g.sessions {
		status = func(answer message) int { return statusOf(m, answer) }
	}
	if follow(w, r, x.stream, status) {
		return
	}
	// With sessions the request lives on; without them this is how it is cancelled.
	if p.unattend(x); g.sessions {
		return
	}
	p.forget(x)
	note := message{"jsonrpc": json.RawMessage(`"2.0"`), "method": json.RawMessage(`"notifications/cancelled"`), "params": fmt.Appendf(nil, `{"requestId":%d}`, x.own)}
	_ = p.send(context.WithoutCancel(r.Context()), note) // a process that has ended works no more
}
