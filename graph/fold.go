package graph

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// folding applies the writes of a superstep's tasks, in task order, to a copy
// of the cells.
type folding struct {
	g     *Graph
	cells []cell
	logs  []any   // append channels with room to grow; never handed out
	by    []*task // who wrote a channel last
	over  []bool  // … bypassing its reducer
	dirty []bool  // reduced: its stored form is not any task's write

	// Stored changes; nil maps without a store.
	set map[string]json.RawMessage
	app map[string][]json.RawMessage
}

// fold returns the state after the superstep. Nothing of v changes.
func (r *run) fold(tasks []task) (*folding, error) {
	f := &r.folding
	n := len(r.view.cells)
	f.g, f.cells, f.set, f.app = r.g, r.view.cells, nil, nil
	if f.logs == nil {
		f.logs = make([]any, n)
		f.by, f.over, f.dirty = make([]*task, n), make([]bool, n), make([]bool, n)
	}
	clear(f.by)
	clear(f.over)
	clear(f.dirty)
	copied := false
	for i := range tasks {
		t := &tasks[i]
		for w := range t.out.writes {
			if !copied {
				f.cells, copied = slices.Clone(r.view.cells), true
			}
			if err := f.apply(t, &t.out.writes[w], r.store != nil); err != nil {
				return nil, err
			}
		}
	}
	if r.store != nil {
		return f, f.encodeReduced()
	}
	return f, nil
}

func (f *folding) apply(t *task, w *write, keep bool) error {
	ch, i := &f.g.spec.Channels[w.channel], w.channel
	cell := &f.cells[i]
	other := f.by[i] != nil && f.by[i] != t
	plain := ch.Reduce == nil && !ch.Append
	if other && (plain || w.overwrite && f.over[i]) {
		return &ConcurrentWriteError{Channel: ch.Name,
			Nodes: [2]string{f.by[i].Node, t.Node}, Tasks: [2]int{f.by[i].Index, t.Index}}
	}
	f.by[i] = t
	f.over[i] = f.over[i] || w.overwrite
	switch {
	case ch.Append && !w.overwrite:
		f.grow(i, w.value)
		if keep {
			f.append(ch.Name, w.items)
		}
		return nil
	case ch.Append:
		f.logs[i] = nil
		delete(f.app, ch.Name)
		w.raw = list(w.items)
	case ch.Reduce != nil && cell.ok && !w.overwrite:
		v, err := ch.reduce(cell.value, w.value)
		if err != nil {
			return &NodeError{Node: t.Node, Index: t.Index, Step: t.run.step + 1, Err: &UpdateError{Channel: ch.Name, Err: err}}
		}
		cell.value, f.dirty[i] = v, true
		return nil
	}
	cell.value, cell.ok, f.dirty[i] = w.value, true, false
	if keep {
		f.put(ch.Name, w.raw)
	}
	return nil
}

// reduce folds one write; a reducer's panic is its error.
func (c *Channel) reduce(old, write any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its reducer panicked: %v", p)
		}
	}()
	v, err = c.Reduce(old, write)
	if err != nil {
		return nil, err
	}
	return c.accept(v)
}

// grow adds items to an append channel. The room behind the value that nodes
// see belongs to logs alone.
func (f *folding) grow(i int, items any) {
	cell := &f.cells[i]
	if f.logs[i] == nil {
		f.logs[i] = cell.value
	}
	if old, ok := f.logs[i].([]any); ok {
		if more, ok := items.([]any); ok {
			grown := append(old, more...)
			f.logs[i], cell.value = grown, grown[:len(grown):len(grown)]
			return
		}
	}
	grown := reflect.AppendSlice(reflect.ValueOf(f.logs[i]), reflect.ValueOf(items))
	f.logs[i] = grown.Interface()
	cell.value = grown.Slice3(0, grown.Len(), grown.Len()).Interface()
}

func (f *folding) put(name string, raw json.RawMessage) {
	if f.set == nil {
		f.set = make(map[string]json.RawMessage)
	}
	f.set[name] = raw
}

func (f *folding) append(name string, items []json.RawMessage) {
	if len(items) == 0 {
		return
	}
	if f.app == nil {
		f.app = make(map[string][]json.RawMessage)
	}
	f.app[name] = append(f.app[name], items...)
}

func (f *folding) encodeReduced() error {
	for i, dirty := range f.dirty {
		if !dirty {
			continue
		}
		ch := &f.g.spec.Channels[i]
		raw, err := encode(ch.Type, f.cells[i].value)
		if err != nil {
			return &UpdateError{Channel: ch.Name, Err: err}
		}
		f.put(ch.Name, raw)
	}
	return nil
}
