package diagnose

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state/schema"
)

// document judges what the server says it can do. It reports whether there is a
// document to go on with.
func (p *patient) document() bool {
	l, g := p.layer(Document), p.known
	l.TookMS = millis(g.last.took)
	if l.Status != "" {
		return false
	}
	if !g.ok {
		l.add(p.undocumented(g))
		return false
	}
	r := p.read[0]
	l.TookMS = millis(r.took)
	if r.err != nil && r.code() == router.SessionExpired || p.forgotten() {
		l.skip(NotReached, "%s, MCP %s; its tools can be read once its session holds: layer %d", p.named(g), clean(g.version), p.culprit())
		return true
	}
	if r.err != nil {
		l.add(p.unreadable(r))
		return false
	}
	p.describes(l, r)
	return true
}

// describes judges a document that was read.
func (p *patient) describes(l *Layer, r *reading) {
	d := r.description
	p.report.Version, p.report.Hash, p.report.tools = clean(d.Version), d.Fingerprint, toolsOf(d)
	l.Saw = p.summary(d)
	l.add(p.anonymous(d)...)
	l.add(p.faultySchemas(d)...)
	for _, line := range r.left {
		if strings.HasPrefix(line, "tool left out") {
			l.add(failed(p.mask(line), "correct the tool in the server"))
		}
	}
	if p.known != nil {
		l.add(p.routing(p.known.offers)...)
	}
	l.add(p.registered(d)...)
	l.add(p.misbound(d)...)
}

// summary is a description on one line.
func (p *patient) summary(d *router.Description) string {
	era := ""
	switch {
	case d.Modern:
		era = " (stateless)"
	case p.url != nil:
		era = " (with sessions)"
	}
	var tools []string
	for _, t := range d.Tools {
		tools = append(tools, clean(t.Name))
	}
	text := fmt.Sprintf("%s, MCP %s%s, %s", strings.TrimSpace(clean(d.Name)+" "+clean(d.Version)), clean(d.ProtocolVersion), era, counted(len(tools), "tool"))
	if len(tools) > 0 {
		text += ": " + some(tools)
	}
	if more := p.others(); more != "" {
		text += "; also " + more
	}
	if said := routed(&d.Routing); said != "" {
		text += "; " + said
	}
	return text
}

// others are the kinds of things that it offers beside tools.
func (p *patient) others() string {
	if p.known == nil {
		return ""
	}
	var offers map[string]json.RawMessage
	if json.Unmarshal(p.known.offers, &offers) != nil {
		return ""
	}
	var all []string
	for _, kind := range []string{"resources", "prompts", "completions", "tasks"} {
		if _, ok := offers[kind]; ok {
			all = append(all, kind)
		}
	}
	return strings.Join(all, ", ")
}

func (p *patient) anonymous(d *router.Description) []Trouble {
	var all []Trouble
	if d.Name == "" || d.Version == "" {
		all = append(all, warned("it does not say its name and version", "set serverInfo in the server: without a version nobody can tell what changed"))
	}
	if len(d.Tools) == 0 {
		all = append(all, warned("it lists no tools", "nothing can be called here: see whether it hides its tools from whom it does not know, or reads its configuration from elsewhere"))
	}
	return all
}

const (
	mostFaults  = 8    // tools that are named
	mostChecked = 1000 // tools whose schemas are looked at
)

// faultySchemas names each tool with a schema that cannot be used.
func (p *patient) faultySchemas(d *router.Description) []Trouble {
	var all []Trouble
	if len(d.Tools) > mostChecked {
		all = append(all, warned(fmt.Sprintf("it lists %d tools, and the schemas of the first %d were looked at", len(d.Tools), mostChecked), "split it: nobody can choose among so many"))
	}
	for i := range d.Tools[:min(len(d.Tools), mostChecked)] {
		t := &d.Tools[i]
		for _, s := range []struct {
			which string
			raw   json.RawMessage
		}{{"inputSchema", t.InputSchema}, {"outputSchema", t.OutputSchema}} {
			if why := faultOf(s.raw, s.which == "inputSchema"); why != "" && len(all) < mostFaults {
				all = append(all, failed(fmt.Sprintf("tool %s, %s: %s", clean(t.Name), s.which, p.mask(why)),
					"correct it in the server; calls of this tool are refused until then"))
			}
		}
	}
	return all
}

// faultOf says what is wrong with a schema; "": nothing.
func faultOf(raw json.RawMessage, input bool) string {
	if len(raw) == 0 || string(raw) == "null" {
		if input {
			return "there is none; a tool without arguments has {\"type\": \"object\"}"
		}
		return ""
	}
	var of struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return "it is no JSON object: " + string(raw[:min(len(raw), 40)])
	}
	if _, err := schema.Compile(raw); err != nil {
		return strings.ReplaceAll(err.Error(), "schema:///here", "")
	}
	if input && of.Type != "object" {
		return fmt.Sprintf("its type is %v, and has to be object", orNone(of.Type))
	}
	return ""
}

func orNone(v any) any {
	if v == nil {
		return "unsaid"
	}
	return v
}

// undocumented is about a server that says nothing of itself.
func (p *patient) undocumented(g *greeting) Trouble {
	r := g.last
	if e := rpcErrorOf(g.discover); e != nil && e.Code == versionUnsupported || len(g.versions) > 0 {
		versions := g.versions
		if e != nil {
			versions = append(versions, supportedIn(e.Data)...)
		}
		return failed("no common protocol version: it supports "+clean(some(versions)), "update the server, or this program: "+laterEra+", "+earlierEra+" and the versions before are spoken here")
	}
	if r.speaks() && r.message.Error != nil {
		return failed("it refuses the handshake: "+p.says(r), "look at the server's log: it answers, and says nothing of itself")
	}
	if r.status == http.StatusNoContent || r.status == http.StatusAccepted {
		return failed(fmt.Sprintf("no document: HTTP %d without one", r.status), "have the server answer requests in the response to their POST")
	}
	return failed("no document: "+p.says(r), "look at the server's log: it may have ended in the middle, or a proxy cut its answer")
}

// unreadable is about a handshake that works on the wire and not for the client.
func (p *patient) unreadable(r *reading) Trouble {
	fix := "look at the server's log"
	switch r.code() {
	case router.OutputInvalid:
		fix = "correct what the server answers to tools/list and to the handshake"
	case router.VersionUnsupported:
		fix = "update the server, or this program"
	case router.Timeout, router.Transport:
		fix = "the handshake works and what follows does not: look at the server's log and load"
	}
	return failed("its tools cannot be read: "+p.mask(sayErr(r.err)), fix)
}

func rpcErrorOf(r *reply) *protocol.JSONRPCErrorDetails {
	if r == nil || r.message == nil {
		return nil
	}
	return r.message.Error
}

// supportedIn are the versions in an error's data.
func supportedIn(data any) []string {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	var d struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	return d.Supported
}
