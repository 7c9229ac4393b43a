package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"junction/router"
	"junction/router/mcp"
)

// gate is a server that wants to be shown a credential.
type gate struct {
	*scripted
	takes     func(h http.Header) bool // nil: anything
	refusal   []string                 // headers of a 401, in pairs
	url       string
	documents map[string]string // metadata by path

	mu       sync.Mutex
	requests int
	looks    int                        // for metadata
	tools    int                        // calls that reached the tool
	shown    map[string]map[string]bool // credentials by header
}

func newGate(t *testing.T, modern bool, takes func(http.Header) bool, refusal ...string) (*gate, *router.Server) {
	t.Helper()
	g := &gate{takes: takes, refusal: refusal, shown: map[string]map[string]bool{}, documents: map[string]string{}}
	g.scripted = &scripted{modern: modern, call: func(w http.ResponseWriter, _ *http.Request, id string) {
		g.mu.Lock()
		g.tools++
		g.mu.Unlock()
		answer(w, id, fine)
	}}
	if !modern {
		g.session = "wire-session-1"
	}
	s, _ := raw(t, g)
	return g, s
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		g.mu.Lock()
		g.looks++
		g.mu.Unlock()
	}
	if doc, ok := g.documents[r.URL.Path]; ok {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.ReplaceAll(doc, "$HOST", "http://"+r.Host))
		return
	}
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		http.NotFound(w, r)
		return
	}
	g.mu.Lock()
	g.requests++
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Custom"} {
		if v := r.Header.Get(name); v != "" {
			if g.shown[name] == nil {
				g.shown[name] = map[string]bool{}
			}
			g.shown[name][v] = true
		}
	}
	takes, refusal := g.takes, g.refusal
	g.mu.Unlock()
	if takes != nil && !takes(r.Header) {
		status(401, `{"error":"show something else than `+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+`"}`, refusal...)(w, r, "")
		return
	}
	g.scripted.ServeHTTP(w, r)
}

// now changes what the gate takes.
func (g *gate) now(takes func(http.Header) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takes = takes
}

func (g *gate) counted() (requests, tools int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests, g.tools
}

func (g *gate) saw(header, value string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shown[header][value]
}

func wants(header string, values ...string) func(http.Header) bool {
	return func(h http.Header) bool { return slices.Contains(values, h.Get(header)) }
}

// silent is a client of which whatever it says is searched for secrets at the end.
type silent struct {
	*mcp.Client
	mu   sync.Mutex
	said bytes.Buffer
}

func newSilent(t *testing.T, secrets ...string) *silent {
	c := &silent{}
	t.Cleanup(func() { // after the client was closed
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range secrets {
			if bytes.Contains(c.said.Bytes(), []byte(s)) {
				t.Errorf("the secret %s is shown in:\n%s", s, c.said.String())
			}
		}
	})
	c.Client = newClient(t, &mcp.Options{Logger: slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	return c
}

func (c *silent) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Write(p)
}

// try makes a call, and keeps all that is told of it.
func (c *silent) try(ctx context.Context, s *router.Server) error {
	_, err := c.Call(ctx, s, call("echo", nil))
	fmt.Fprintf(c, "%v\n%#v\n", err, err)
	if e, ok := err.(*router.CallError); ok {
		fmt.Fprintf(c, "%+v %v\n", *e, e.Data)
	}
	return err
}

func (c *silent) describe(t *testing.T, s *router.Server) *router.Description {
	t.Helper()
	d, err := c.Describe(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	c.Write(text)
	return d
}

// handshakes are the requests of a call that makes the connection, and of which
// none is refused.
func plainRequests(modern bool) int {
	if modern {
		return 3 // discover, the tools, the call
	}
	return 5 // the probe, initialize, initialized, the tools, the call
}
