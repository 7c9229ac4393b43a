package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode"

	"junction/state"
	"junction/state/document"
	"junction/state/value"
)

// hop is a call or a route: which server is wanted, and with what.
type hop struct {
	at                             *document.Node
	routeOnly                      bool
	capability, server, tool, name *template
	need, prefer, with             *template
	effect                         state.Effect
	idle, max                      time.Duration
	attempts                       int
	session                        string
}

func (p *parser) hop(n *document.Node, s scope, routeOnly bool) *hop {
	known := []string{"capability", "server", "tool", "need", "prefer", "session", "name"}
	if !routeOnly {
		known = append(known, "with", "effect", "timeout", "retry")
	}
	m := n.Mapping(known...)
	if m == nil {
		return nil
	}
	h := &hop{
		at: n, routeOnly: routeOnly,
		capability: p.template(m.Get("capability"), s, "string"),
		server:     p.template(m.Get("server"), s, "string"),
		tool:       p.template(m.Get("tool"), s, "string"),
		name:       p.template(m.Get("name"), s, "string"),
		need:       p.template(m.Get("need"), s, "object"),
		prefer:     p.template(m.Get("prefer"), s, "object"),
		with:       p.template(m.Get("with"), s, "object"),
		effect:     state.Effect(m.Get("effect").OneOf("safe", "conditional", "unsafe")),
		session:    m.Get("session").OneOf("shared", "thread"),
	}
	h.clocks(m.Get("timeout"))
	h.attempts = int(m.Get("retry").Mapping("attempts").Get("attempts").Int(1, 100))
	h.selection(m)
	return h
}

// selection checks that the fields say one thing.
func (h *hop) selection(m *document.Mapping) {
	capability, server, tool := m.Get("capability"), m.Get("server"), m.Get("tool")
	switch {
	case capability == nil && server == nil && tool == nil:
		h.at.Fault("add capability: …, or server: … and tool: …", "nothing says which server is wanted")
	case capability != nil && tool != nil:
		tool.Fault("remove one of them", "a capability names its tool itself: give capability or tool, not both")
	case tool != nil && server == nil:
		tool.Fault("add server: …", "a tool is called directly and needs its server")
	case capability == nil && tool == nil && !h.routeOnly:
		server.Fault("add capability: … or tool: …", "nothing says what to call on the server")
	}
	if e := m.Get("effect"); e != nil && capability != nil {
		e.Fault("declare it with the offer in the servers file", "the effect of a capability is not the workflow's to say")
	}
	if tool != nil {
		for _, key := range []string{"need", "prefer"} {
			if n := m.Get(key); n != nil {
				n.Fault("use capability: … to choose among servers", "%s has no meaning in a direct call", key)
			}
		}
	}
}

// clocks reads timeout: D, or {idle, max}.
func (h *hop) clocks(n *document.Node) {
	if n == nil || n.Kind != document.Map {
		h.max = n.Duration()
		h.idle = h.max
		return
	}
	m := n.Mapping("idle", "max")
	h.idle, h.max = m.Get("idle").Duration(), m.Get("max").Duration()
	if h.max > 0 && h.idle > h.max {
		m.Get("idle").Fault("", "the idle timeout is longer than the maximum")
	}
}

// call evaluates the hop's fields.
func (h *hop) call(ctx context.Context, e env) (state.Call, error) {
	c := state.Call{
		Effect: h.effect, Idle: h.idle, Max: h.max, Attempts: h.attempts, Session: h.session, RouteOnly: h.routeOnly,
	}
	for _, f := range []struct {
		to   *string
		from *template
	}{{&c.Capability, h.capability}, {&c.Server, h.server}, {&c.Tool, h.tool}, {&c.Name, h.name}} {
		var err error
		if *f.to, err = f.from.text(ctx, e); err != nil {
			return c, err
		}
	}
	for _, f := range []struct {
		to   *map[string]any
		from *template
	}{{&c.Need, h.need}, {&c.Prefer, h.prefer}} {
		m, err := f.from.object(ctx, e)
		if err != nil {
			return c, err
		}
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
		*f.to = m
	}
	if h.routeOnly {
		return c, nil // no arguments: none are held against a tool's schema
	}
	with, err := h.with.object(ctx, e)
	if with == nil {
		with = map[string]any{}
	}
	c.With = with
	return c, err
}

var errNoTools = errors.New("the workflow was built without tools and can make no hop: give Spec a router")

// do makes the hop and returns what the node's write sees.
func (h *hop) do(ctx context.Context, tools Tools, e env) (any, error) {
	c, err := h.call(ctx, e)
	if err != nil {
		return nil, err
	}
	if tools == nil {
		return nil, errNoTools
	}
	a, err := tools.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	if h.routeOnly {
		return map[string]any{"server": a.Server, "endpoint": a.Endpoint, "session": a.Session, "tool": a.Tool}, nil
	}
	if a.IsError {
		return nil, &ToolError{Capability: c.Capability, Server: a.Server, Tool: a.Tool, Hop: a.Hop, Message: said(a.Value)}
	}
	return a.Value, nil
}

// ToolError is a tool's own error, which fails its node.
type ToolError struct {
	Capability, Server, Tool string
	Hop                      string
	Message                  string // what the tool said, cut and without control characters
}

func (e *ToolError) Error() string {
	what := "tool " + fmt.Sprintf("%q", e.Tool)
	if e.Capability != "" {
		what = fmt.Sprintf("capability %q (%s)", e.Capability, what)
	}
	return fmt.Sprintf("%s of server %q answered with an error: %s", what, e.Server, e.Message)
}

// Failure gives the error its code.
func (e *ToolError) Failure() state.Failure {
	return state.Failure{Code: "tool_error", Message: e.Error(), Server: e.Server, Hop: e.Hop}
}

// said is what a tool's error says, in at most 500 characters.
func said(v any) string {
	text, ok := v.(string)
	if m, object := v.(map[string]any); object {
		if s, there := m["text"].(string); there {
			text, ok = s, true
		}
	}
	if !ok {
		data, err := value.Encode(v)
		if err != nil {
			return "(its answer cannot be shown: " + err.Error() + ")"
		}
		text = string(data)
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if r := []rune(text); len(r) > 500 {
		text = string(r[:499]) + "…"
	}
	return strings.TrimSpace(text)
}

// kind names the type of a value in messages.
func kind(v any) string { return "a value of type " + value.Kind(v) }
