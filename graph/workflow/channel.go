package workflow

import (
	"fmt"
	"regexp"
	"slices"

	"junction/graph"
	"junction/state/document"
	"junction/state/value"
)

// Channel is one field of the state as a file declares it.
type Channel struct {
	Name        string
	Type        string // "string", "number", "integer", "boolean", "array", "object" or "any"
	Reduce      string // "last", "append", "sum", "max", "min" or "merge"
	Default     any    // nil: none
	Description string
}

var (
	typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "any"}
	// reducers and the type that each of them asks for; "" is any.
	reducers = map[string]string{"last": "", "append": "array", "sum": "number", "max": "number", "min": "number", "merge": "object"}

	channelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nodeName    = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
	// reserved are names that expressions give another meaning.
	reserved = []string{
		"item", "index", "result", "answer", "route", "error",
		"true", "false", "nil", "null", "not", "in", "and", "or", "let", "if", "else", "matches", "contains", "startsWith", "endsWith",
	}
)

// routed are the channels a route writes when it has no write of its own.
var routed = []string{"selected_server", "selected_server_endpoint", "mcp_session_id"}

// state declares the channels: those of the file, and those that routes write
// by default.
func (p *parser) state(n *document.Node, nodes *document.Mapping) {
	p.types = map[string]string{}
	for _, e := range n.Mapping().Entries() {
		p.declare(e.At, p.channel(e))
	}
	for _, e := range nodes.Entries() {
		if !writesRouted(e.Node) {
			continue
		}
		for _, name := range routed {
			if typ, ok := p.types[name]; !ok {
				p.declare(nil, Channel{Name: name, Type: "string", Reduce: "last"})
			} else if typ != "string" && typ != "any" {
				e.At.Fault("declare it as string, or give the route a write", "the route writes text to channel %q, which is declared as %s", name, typ)
			}
		}
		return
	}
}

// writesRouted looks ahead for a route without a write.
func writesRouted(n *document.Node) bool {
	m, ok := n.Value().(map[string]any)
	if !ok {
		return false
	}
	_, route := m["route"]
	_, write := m["write"]
	return route && !write
}

func (p *parser) declare(at *document.Node, c Channel) {
	p.w.Channels = append(p.w.Channels, c)
	p.channels = append(p.channels, c.Name)
	p.types[c.Name] = exprType(c.Type)
	if at != nil {
		p.places[fmt.Sprintf("channel %q", c.Name)] = at
	}
}

// exprType is a declared type in the words of package expr.
func exprType(t string) string {
	if t == "integer" {
		return "number"
	}
	return t
}

func (p *parser) channel(e document.Entry) Channel {
	c := Channel{Name: e.Key, Type: "any", Reduce: "last"}
	switch {
	case slices.Contains(reserved, e.Key):
		e.At.Fault("choose another name", "the name %q has a meaning of its own in expressions", e.Key)
	case !channelName.MatchString(e.Key):
		e.At.Fault("use letters, digits and _", "%q cannot be the name of a channel", e.Key)
	}
	if e.Node.Kind == document.Text {
		if t := e.Node.OneOf(typeNames...); t != "" {
			c.Type = t
		}
		return c
	}
	m := e.Node.Mapping("type", "reduce", "default", "description")
	if t := m.Get("type").OneOf(typeNames...); t != "" {
		c.Type = t
	}
	if r := m.Get("reduce").OneOf("append", "last", "max", "merge", "min", "sum"); r != "" {
		c.Reduce = r
	}
	c.Description = m.Get("description").Text()
	if want := reducers[c.Reduce]; want != "" {
		if c.Type == "any" {
			c.Type = want
		}
		if exprType(c.Type) != want {
			m.Get("reduce").Fault("", "reduce: %s folds values of type %s; the channel holds %s", c.Reduce, want, c.Type)
			c.Reduce, c.Type = "last", "any"
		}
	}
	if d := m.Get("default"); d != nil {
		c.Default = d.Value()
		if err := c.fits(c.Default); err != nil {
			d.Fault("", "the default does not fit: %v", err)
		}
	}
	return c
}

func goodNodeName(at *document.Node, name string) bool {
	switch {
	case name == graph.Start || name == graph.End:
		at.Fault("choose another name", "%q is the border of every graph and cannot be a node", name)
		return false
	case name == "continue":
		at.Fault("choose another name", "%q has a meaning of its own in on_error and cannot be a node", name)
	case !nodeName.MatchString(name):
		at.Fault("use letters, digits, _, . and -", "%q cannot be the name of a node", name)
	}
	return true
}

// fits checks a canonical value against the channel's type. null fits every
// channel that is not reduced: it empties it.
func (c *Channel) fits(v any) error {
	if v == nil {
		if c.Reduce != "last" {
			return fmt.Errorf("channel %q is reduced with %s and takes no null", c.Name, c.Reduce)
		}
		return nil
	}
	got := value.Kind(v)
	if c.Type == "any" || c.Type == got {
		return nil
	}
	if c.Type == "integer" && got == "number" {
		if _, ok := v.(int64); ok {
			return nil
		}
		got = "fraction"
	}
	if c.Reduce == "append" {
		return fmt.Errorf("channel %q is a log and takes a list of items to add, not a value of type %s", c.Name, got)
	}
	return fmt.Errorf("channel %q holds values of type %s, not %s", c.Name, c.Type, got)
}

// spec is the channel as the graph knows it. Types are checked before a value
// reaches the graph: JSON's numbers have no single Go type.
func (c *Channel) spec() graph.Channel {
	g := graph.Channel{Name: c.Name, Default: value.Clone(c.Default), Append: c.Reduce == "append"}
	if r, ok := graph.ReducerNamed(c.Reduce); ok {
		g.Reduce = r
	}
	return g
}

// Input checks initial values for a run and converts them: for a channel that
// holds something else than text, text is read as JSON, as it comes from a
// command line. Its error is document.Faults, one for each channel at fault; the
// channel is their Path.
func (w *Workflow) Input(set map[string]any) (map[string]any, error) {
	names := make([]string, len(w.Channels))
	for i := range w.Channels {
		names[i] = w.Channels[i].Name
	}
	in := make(map[string]any, len(set))
	var faults document.Faults
	for name, v := range set {
		i := slices.Index(names, name)
		if i < 0 {
			faults = append(faults, document.Fault{Path: name, Hint: document.Hint(name, names),
				Message: fmt.Sprintf("workflow %q has no channel %q", w.Name, name)})
			continue
		}
		v, err := w.Channels[i].read(v)
		if err != nil {
			faults = append(faults, document.Fault{Path: name, Message: err.Error(), Hint: w.Channels[i].example()})
			continue
		}
		in[name] = v
	}
	if len(faults) > 0 {
		faults.Sort()
		return nil, faults
	}
	return in, nil
}

// read makes an input value canonical, of the channel's type.
func (c *Channel) read(v any) (any, error) {
	if s, ok := v.(string); ok && c.Type != "string" && c.Type != "any" {
		parsed, err := value.Parse([]byte(s))
		if err != nil {
			return nil, fmt.Errorf("channel %q holds values of type %s; the text given is none (%w)", c.Name, c.Type, err)
		}
		v = parsed
	}
	v, err := value.Normalize(v)
	if err != nil {
		return nil, fmt.Errorf("channel %q: %w", c.Name, err)
	}
	return v, c.fits(v)
}

func (c *Channel) example() string {
	switch c.Type {
	case "number":
		return "such as 1.5"
	case "integer":
		return "such as 3"
	case "boolean":
		return "true or false"
	case "array":
		return `such as ["a", "b"]`
	case "object":
		return `such as {"key": "value"}`
	}
	return ""
}

// schema is the JSON Schema of the channel's values, nil for any.
func (c *Channel) schema() any {
	if c.Type == "any" {
		return nil
	}
	return map[string]any{"type": c.Type}
}
