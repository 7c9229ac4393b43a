package diagnose

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// The versions of the two eras that are asked for. Older ones are the server's to
// answer with.
const (
	laterEra   = "2026-07-28"
	earlierEra = "2025-11-25"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerMismatch = -32020 // a standard header is missing, or is not what the body says

	versionUnsupported = -32022
)

const (
	clientInfo = `{"name":"junction-diagnose","version":"1"}`
	laterMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + laterEra + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":` + clientInfo + `}`
)

// greeting is a handshake, as it passes on the wire.
type greeting struct {
	ok       bool
	modern   bool
	version  string          // of the protocol
	name     string          // of the server
	release  string          // its version
	offers   json.RawMessage // its capabilities
	versions []string        // that it says it supports
	session  string          // a credential
	last     *reply          // what decided: to initialize where it was asked, else to server/discover
	discover *reply
	welcome  *reply // the answer that the session began with; nil: none
}

// greet asks by the later era's method, and where that is no success by the earlier
// one's.
func (p *patient) greet(ctx context.Context, do doer) *greeting {
	g := &greeting{}
	g.discover = p.post(ctx, do, request{
		method: string(protocol.MethodServerDiscover), params: "{" + laterMeta + "}",
		header: map[string]string{protocol.HeaderMethod: string(protocol.MethodServerDiscover), protocol.HeaderProtocolVersion: laterEra},
	})
	g.last = g.discover
	if g.discover.answered() {
		g.readDiscover()
	}
	if g.ok || !g.fallsBack() {
		return g
	}
	r := p.post(ctx, do, request{
		method: string(protocol.MethodInitialize),
		params: `{"protocolVersion":"` + earlierEra + `","capabilities":{},"clientInfo":` + clientInfo + `}`,
	})
	g.last = r
	if r.answered() {
		g.readInitialize(r)
	}
	if g.ok {
		p.post(ctx, do, request{method: "notifications/initialized", params: "{}", header: g.headers("")})
	}
	return g
}

// fallsBack reports whether the earlier era's handshake is worth asking for.
func (g *greeting) fallsBack() bool {
	r := g.discover
	switch {
	case r.hangs():
		return true // some servers leave unasked what they do not know
	case r.status == 0, r.refuses(), r.status/100 == 3:
		return false
	case r.message != nil && r.message.Error != nil && r.message.Error.Code == headerMismatch:
		return false // it knows the later era
	}
	return true
}

func (g *greeting) readDiscover() {
	var d struct {
		Versions     []string        `json:"supportedVersions"`
		Capabilities json.RawMessage `json:"capabilities"`
		Meta         struct {
			Info protocol.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if json.Unmarshal(g.discover.message.Result, &d) != nil {
		g.discover.why = "the answer to server/discover cannot be read"
		return
	}
	g.versions = d.Versions
	if !slices.Contains(d.Versions, laterEra) {
		return
	}
	g.ok, g.modern, g.version = true, true, laterEra
	g.name, g.release, g.offers = d.Meta.Info.Name, d.Meta.Info.Version, d.Capabilities
}

func (g *greeting) readInitialize(r *reply) {
	var d struct {
		Version      string                  `json:"protocolVersion"`
		Capabilities json.RawMessage         `json:"capabilities"`
		Info         protocol.Implementation `json:"serverInfo"`
	}
	if json.Unmarshal(r.message.Result, &d) != nil || d.Version == "" {
		r.why = "the answer to initialize names no protocol version"
		return
	}
	g.ok, g.version, g.name, g.release, g.offers = true, d.Version, d.Info.Name, d.Info.Version, d.Capabilities
	g.session, g.welcome = r.header.Get(headerSession), r
}

// headers are those that every request after the handshake carries.
func (g *greeting) headers(method string) map[string]string {
	h := map[string]string{protocol.HeaderProtocolVersion: g.version}
	if g.session != "" {
		h[headerSession] = g.session
	}
	if g.modern && method != "" {
		h[protocol.HeaderMethod] = method
	}
	return h
}

// heartbeat is a request that does nothing.
func (g *greeting) heartbeat() request {
	if g.modern {
		m := string(protocol.MethodServerDiscover)
		return request{method: m, params: "{" + laterMeta + "}", header: g.headers(m)}
	}
	return request{method: string(protocol.MethodPing), params: "{}", header: g.headers("")}
}

// farewell ends a session.
func (p *patient) farewell(ctx context.Context, do doer, g *greeting) {
	if g == nil || g.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.o.Patience/5)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.url.String(), nil)
	if err != nil {
		return
	}
	for k, v := range g.headers("") {
		req.Header.Set(k, v)
	}
	if resp, err := do(req); err == nil { // a server need not end sessions on demand
		resp.Body.Close()
	}
}

// named is the server as it calls itself.
func (p *patient) named(g *greeting) string {
	return strings.TrimSpace(p.mask(g.name) + " " + p.mask(g.release))
}
