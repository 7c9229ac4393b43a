package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"junction/state"
)

// outcome is what a finished task leaves behind, checked and resolved.
type outcome struct {
	writes  []write
	sends   []send
	named   bool
	handled *state.Failure
}

// write is a Write with its channel resolved. raw and items are its stored
// form, once it was encoded.
type write struct {
	channel   int
	value     any
	overwrite bool
	raw       json.RawMessage
	items     []json.RawMessage // of an append channel
}

// send is a Send with its node resolved; node −1 is the end.
type send struct {
	node    int
	item    any
	hasItem bool
	raw     json.RawMessage
}

const toEnd = -1

// accept checks a node's update against its graph. Every error is an
// *UpdateError.
func (g *Graph) accept(n *node, u Update) (outcome, error) {
	o := outcome{named: u.Named}
	if len(u.Writes) > 0 {
		o.writes = make([]write, len(u.Writes))
	}
	for i, w := range u.Writes {
		ch, ok := g.channels[w.Channel]
		if !ok {
			return o, &UpdateError{Channel: w.Channel, Err: errors.New("there is no such channel; " + known((&compiler{g: g}).channelNames()))}
		}
		if n.writes != nil && !n.writes[ch] {
			return o, &UpdateError{Channel: w.Channel, Err: errors.New("the node does not declare that it writes it")}
		}
		v, err := g.spec.Channels[ch].accept(w.Value)
		if err != nil {
			return o, &UpdateError{Channel: w.Channel, Err: err}
		}
		o.writes[i] = write{channel: ch, value: v, overwrite: w.Overwrite}
	}
	for _, s := range u.Goto {
		r, err := g.successor(n, s)
		if err != nil {
			return o, &UpdateError{Err: err}
		}
		o.sends = append(o.sends, r)
	}
	if n.none() && !u.Named && len(u.Goto) == 0 {
		return o, &UpdateError{Err: errors.New("the node has no edge and named no successor; name one, or end")}
	}
	return o, nil
}

func (g *Graph) successor(n *node, s Send) (send, error) {
	if s.Node == End && n.goEnd {
		return send{node: toEnd}, nil
	}
	to, ok := g.names[s.Node]
	if !ok || !n.goes[to] {
		return send{}, fmt.Errorf("it named the successor %q, which it does not declare; declared are %v", s.Node, n.Goto)
	}
	if s.Item == nil {
		return send{node: to}, nil
	}
	item, err := fit(g.nodes[to].Item, s.Item)
	if err != nil {
		return send{}, fmt.Errorf("the item for node %q: %w", s.Node, err)
	}
	return send{node: to, item: item, hasItem: true}, nil
}

// encode fills the stored form of everything in o.
func (g *Graph) encode(o *outcome) error {
	for i := range o.writes {
		w := &o.writes[i]
		ch := &g.spec.Channels[w.channel]
		var err error
		if ch.Append {
			w.items, err = ch.items(w.value)
		} else {
			w.raw, err = encode(ch.Type, w.value)
		}
		if err != nil {
			return &UpdateError{Channel: ch.Name, Err: err}
		}
	}
	for i := range o.sends {
		s := &o.sends[i]
		if !s.hasItem {
			continue
		}
		raw, err := encode(g.nodes[s.node].Item, s.item)
		if err != nil {
			return &UpdateError{Err: fmt.Errorf("the item for node %q: %w", g.nodes[s.node].Name, err)}
		}
		s.raw = raw
	}
	return nil
}

// stored is the form in which a store keeps an encoded outcome.
func (g *Graph) stored(task string, o *outcome) state.TaskWrites {
	w := state.TaskWrites{Task: task, Named: o.named, Handled: o.handled}
	for _, x := range o.writes {
		raw := x.raw
		if g.spec.Channels[x.channel].Append {
			raw = list(x.items)
		}
		w.Writes = append(w.Writes, state.Write{Channel: g.spec.Channels[x.channel].Name, Value: raw, Overwrite: x.overwrite})
	}
	for _, s := range o.sends {
		name := End
		if s.node != toEnd {
			name = g.nodes[s.node].Name
		}
		w.Goto = append(w.Goto, state.Send{Node: name, Item: s.raw})
	}
	return w
}

// restored is the inverse of stored.
func (g *Graph) restored(w state.TaskWrites) (outcome, error) {
	o := outcome{named: w.Named, handled: w.Handled}
	for _, x := range w.Writes {
		i, ok := g.channels[x.Channel]
		if !ok {
			return o, fmt.Errorf("stored writes of task %s: channel %q does not exist any more: %w", w.Task, x.Channel, ErrMismatch)
		}
		ch := &g.spec.Channels[i]
		v, err := decode(ch.Type, x.Value)
		if err != nil {
			return o, fmt.Errorf("stored writes of task %s: channel %q: %w", w.Task, x.Channel, err)
		}
		r := write{channel: i, value: v, overwrite: x.Overwrite, raw: x.Value}
		if ch.Append {
			if err := json.Unmarshal(x.Value, &r.items); err != nil {
				return o, fmt.Errorf("stored writes of task %s: channel %q: %w", w.Task, x.Channel, err)
			}
		}
		o.writes = append(o.writes, r)
	}
	for _, s := range w.Goto {
		r, err := g.restoredSend(s)
		if err != nil {
			return o, fmt.Errorf("stored writes of task %s: %w", w.Task, err)
		}
		o.sends = append(o.sends, r)
	}
	return o, nil
}

func (g *Graph) restoredSend(s state.Send) (send, error) {
	if s.Node == End {
		return send{node: toEnd}, nil
	}
	to, ok := g.names[s.Node]
	if !ok {
		return send{}, fmt.Errorf("node %q does not exist any more: %w", s.Node, ErrMismatch)
	}
	if s.Item == nil {
		return send{node: to}, nil
	}
	item, err := decode(g.nodes[to].Item, s.Item)
	return send{node: to, item: item, hasItem: true, raw: s.Item}, err
}
