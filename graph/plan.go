package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// planner decides what runs next. Its slices, by node, are reused from one
// superstep to the next.
type planner struct {
	r    *run
	ctx  context.Context
	view *view

	nodes   []planning
	touched []int               // nodes with anything planned
	arrived map[string][]string // of joins; copied before it is changed
	copied  bool

	// Lists of tasks, used in turn: a superstep copies what it runs, so the list
	// before the last is free.
	lists [2][]planned
	turn  int
}

// planning is what led to a node so far.
type planning struct {
	touched   bool
	triggered bool     // by an edge, a route or a Send without an item
	open      bool     // an empty fan-out whose successors are being planned
	from      []string // who triggered it
	items     []any    // of its fan-out
	sends     []sent
}

type sent struct {
	send
	from []string
}

// begin prepares for planning against view.
func (p *planner) begin(r *run, v *view, arrived map[string][]string) {
	p.r, p.ctx, p.view, p.arrived, p.copied = r, r.ctx, v, arrived, false
	if p.nodes == nil {
		p.nodes = make([]planning, len(r.g.nodes))
	}
	for _, i := range p.touched {
		p.nodes[i] = planning{}
	}
	p.touched = p.touched[:0]
}

// first plans what follows the start.
func (p *planner) first() error { return p.leave(&p.r.g.start, nil) }

// after plans what follows a superstep's tasks, which are in task order. A
// node's edges are followed once, however many tasks it had, unless each of
// them named its successors itself.
func (p *planner) after(tasks []task) error {
	for i := 0; i < len(tasks); {
		n := tasks[i].planned.node
		node := &p.r.g.nodes[n]
		named := true
		for ; i < len(tasks) && tasks[i].planned.node == n; i++ {
			named = named && tasks[i].out.named
			for _, s := range tasks[i].out.sends {
				if err := p.send(s, node); err != nil {
					return err
				}
			}
		}
		if named {
			continue
		}
		if err := p.leave(&node.exits, node.from); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) send(s send, from *node) error {
	switch {
	case s.node == toEnd:
		return nil
	case !s.hasItem:
		return p.trigger(s.node, from.from)
	}
	p.touch(s.node).sends = append(p.touch(s.node).sends, sent{s, from.from})
	return nil
}

// leave follows every way on from a node that is done.
func (p *planner) leave(x *exits, from []string) error {
	for _, to := range x.next {
		if err := p.trigger(to, from); err != nil {
			return err
		}
	}
	for _, j := range x.joins {
		if err := p.arrive(&p.r.g.joins[j], from[0]); err != nil {
			return err
		}
	}
	for _, i := range x.routes {
		if err := p.route(&p.r.g.spec.Routes[i], from); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) touch(n int) *planning {
	if !p.nodes[n].touched {
		p.nodes[n].touched = true
		p.touched = append(p.touched, n)
	}
	return &p.nodes[n]
}

// trigger plans a node. An empty fan-out is done at once: its successors are
// planned in its place.
func (p *planner) trigger(n int, from []string) error {
	t, node := p.touch(n), &p.r.g.nodes[n]
	if t.open {
		return &RecursionError{Limit: p.r.g.limit, Nodes: []string{node.Name}}
	}
	if t.from == nil {
		t.from = from
	} else {
		t.from = slices.Concat(t.from, from)
	}
	if t.triggered {
		return nil
	}
	t.triggered = true
	if node.Each == nil {
		return nil
	}
	items, err := p.each(node)
	if err != nil || len(items) > 0 {
		t.items = items
		return err
	}
	t.open = true
	err = p.leave(&node.exits, node.from)
	p.nodes[n].open = false
	return err
}

func (p *planner) each(n *node) ([]any, error) {
	var items []any
	err := p.r.guarded(func() (err error) {
		items, err = n.Each(p.view)
		return err
	})
	if errors.Is(err, errAbandoned) {
		return nil, err
	}
	if err != nil {
		return nil, &NodeError{Node: n.Name, Step: p.r.step + 1, Err: fmt.Errorf("its list of items: %w", err)}
	}
	fitting := make([]any, len(items))
	for i := range items {
		if fitting[i], err = fit(n.Item, items[i]); err != nil {
			return nil, &NodeError{Node: n.Name, Step: p.r.step + 1, Err: &UpdateError{Err: fmt.Errorf("item %d: %w", i, err)}}
		}
	}
	return fitting, nil
}

// arrive notes a predecessor at a join and plans the join's node when it was
// the last.
func (p *planner) arrive(j *join, from string) error {
	to := p.r.g.nodes[j.to].Name
	if !p.copied {
		m := make(map[string][]string, len(p.arrived)+1)
		for k, v := range p.arrived {
			m[k] = slices.Clone(v)
		}
		p.arrived, p.copied = m, true
	}
	here := p.arrived[to]
	if i, found := slices.BinarySearch(here, from); !found {
		here = slices.Insert(here, i, from)
	}
	for _, f := range j.from {
		if _, found := slices.BinarySearch(here, f); !found {
			p.arrived[to] = here
			return nil
		}
	}
	here = slices.DeleteFunc(here, func(f string) bool { return slices.Contains(j.from, f) })
	if p.arrived[to] = here; len(here) == 0 {
		delete(p.arrived, to)
	}
	return p.trigger(j.to, j.from)
}

func (p *planner) route(route *Route, from []string) error {
	var to []string
	err := p.r.guarded(func() (err error) {
		to, err = route.Pick(p.ctx, p.view)
		return err
	})
	if errors.Is(err, errAbandoned) {
		return err
	}
	if err == nil {
		for _, name := range to {
			if !slices.Contains(route.To, name) {
				err = &UpdateError{Err: fmt.Errorf("its route picked %q; it may pick %v", name, route.To)}
				break
			}
		}
	}
	if err != nil {
		return &NodeError{Node: route.From, Step: p.r.step + 1, Err: fmt.Errorf("its route: %w", err)}
	}
	for _, name := range to {
		if name == End {
			continue
		}
		if err := p.trigger(p.r.g.names[name], from); err != nil {
			return err
		}
	}
	return nil
}
