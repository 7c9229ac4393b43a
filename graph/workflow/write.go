package workflow

import (
	"context"
	"slices"

	"junction/graph"
	"junction/state/document"
	"junction/state/expr"
)

// write puts the value of an expression in a channel.
type write struct {
	channel *Channel
	from    *template
	replace bool
}

type writes []write

// writes decodes a mapping of channels to values.
func (p *parser) writes(n *document.Node, s scope, replace bool) writes {
	var ws writes
	for _, e := range n.Mapping().Entries() {
		t := p.template(e.Node, s)
		c := p.named(e.Key)
		if c == nil {
			e.At.Fault(document.Hint(e.Key, p.channels), "there is no channel %q in the state", e.Key)
			continue
		}
		if replace && c.Reduce == "last" {
			e.At.Fault("use write", "channel %q has no reducer; writing replaces its value already", e.Key)
		}
		if t != nil && p.assignable(c, t) {
			ws = append(ws, write{channel: c, from: t, replace: replace})
		}
	}
	return ws
}

// assignable reports a value whose type can never fit its channel.
func (p *parser) assignable(c *Channel, t *template) bool {
	if t.tpl.Constant() {
		v, err := t.tpl.Eval(context.Background(), nil)
		if err == nil {
			err = c.fits(v)
		}
		if err != nil {
			t.at.Fault("", "%v", err)
		}
		return err == nil
	}
	want := exprType(c.Type)
	switch {
	case want == "any" || t.typ == "any" || t.typ == want || t.typ == "null" && c.Reduce == "last":
		return true
	case c.Reduce == "append":
		t.at.Fault("put it in a list: [ … ]", "channel %q is a log and takes a list of items to add, not a value of type %s", c.Name, t.typ)
	default:
		t.at.Fault(wrongTypeHint(t.typ, want), "channel %q holds values of type %s, not %s", c.Name, c.Type, t.typ)
	}
	return false
}

func (p *parser) named(name string) *Channel {
	i := slices.IndexFunc(p.w.Channels, func(c Channel) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.w.Channels[i]
}

// constructed compiles a text that is not in the file, for a place that is.
func (p *parser) constructed(at *document.Node, text string, s scope) *template {
	var names []string
	for k := range s.bound {
		names = append(names, k)
	}
	tpl, err := expr.Compile(text, names...)
	if err != nil {
		at.Fault("", "%v", err)
		return nil
	}
	return &template{tpl: tpl, names: tpl.Names(), at: at, file: p.doc.File, typ: "any"}
}

// channels names what is written, sorted.
func (ws writes) channels() []string {
	var names []string
	for _, w := range ws {
		names = append(names, w.channel.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// update evaluates the writes in the file's order.
func (ws writes) update(ctx context.Context, e env) (graph.Update, error) {
	var u graph.Update
	for _, w := range ws {
		v, err := w.from.eval(ctx, e)
		if err == nil {
			if err = w.channel.fits(v); err != nil {
				err = w.from.failed(err)
			}
		}
		if err != nil {
			return graph.Update{}, err
		}
		u.Writes = append(u.Writes, graph.Write{Channel: w.channel.Name, Value: v, Overwrite: w.replace})
	}
	return u, nil
}
