package graph

import (
	"fmt"
	"slices"

	"junction/state"
)

// planned is a task of the next superstep with its node resolved and its item
// decoded.
type planned struct {
	state.Task
	node int
	item any
}

// tasks lists what was planned, in task order, as the tasks of checkpoint seq.
func (p *planner) tasks(seq int64) ([]planned, error) {
	slices.Sort(p.touched)
	p.turn = 1 - p.turn
	clear(p.lists[p.turn])
	all := p.lists[p.turn][:0]
	for _, n := range p.touched {
		t, node := &p.nodes[n], &p.r.g.nodes[n]
		if t.triggered && node.Each == nil {
			all = append(all, p.task(seq, n, 0, t.from))
		}
		index := len(all)
		for _, item := range t.items {
			k := p.task(seq, n, len(all)-index, t.from)
			k.item, k.Fan = item, true
			if err := p.keepItem(&k, node, nil); err != nil {
				return nil, err
			}
			all = append(all, k)
		}
		first := len(t.items)
		if t.triggered && node.Each == nil {
			first = 1
		}
		for i, s := range t.sends {
			k := p.task(seq, n, first+i, s.from)
			k.item, k.Fan = s.item, true
			if err := p.keepItem(&k, node, s.raw); err != nil {
				return nil, err
			}
			all = append(all, k)
		}
	}
	p.lists[p.turn] = all
	return all, nil
}

func (p *planner) task(seq int64, n, index int, from []string) planned {
	name := p.r.g.nodes[n].Name
	if len(from) > 1 {
		from = slices.Compact(slices.Sorted(slices.Values(from)))
	}
	return planned{node: n, Task: state.Task{
		ID: taskID(p.r.id, p.r.lineage, seq, name, index), Node: name, Index: index, From: from,
	}}
}

func (p *planner) keepItem(k *planned, n *node, raw []byte) error {
	if p.r.store == nil {
		return nil
	}
	if raw == nil {
		var err error
		if raw, err = encode(n.Item, k.item); err != nil {
			return &NodeError{Node: n.Name, Index: k.Index, Step: p.r.step + 1, Err: &UpdateError{Err: fmt.Errorf("its item: %w", err)}}
		}
	}
	k.Task.Item = raw
	return nil
}
