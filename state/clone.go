package state

import (
	"encoding/json"
	"maps"
	"slices"
)

// The Clone methods give a value that shares no memory with the one it came
// from. A backend that keeps Go values uses them on the way in and on the way
// out (invariant 6).

// Clone returns a copy that shares nothing with f; nil stays nil.
func (f *Failure) Clone() *Failure {
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

// Clone returns a copy that shares nothing with t.
func (t Thread) Clone() Thread {
	t.Meta = maps.Clone(t.Meta)
	t.Failure = t.Failure.Clone()
	return t
}

// Clone returns a copy that shares nothing with t.
func (t Task) Clone() Task {
	t.Item = slices.Clone(t.Item)
	t.From = slices.Clone(t.From)
	return t
}

// CloneTasks copies a plan.
func CloneTasks(tasks []Task) []Task {
	if tasks == nil {
		return nil
	}
	out := make([]Task, len(tasks))
	for i, t := range tasks {
		out[i] = t.Clone()
	}
	return out
}

// CloneArrived copies what has arrived at joins.
func CloneArrived(arrived map[string][]string) map[string][]string {
	if arrived == nil {
		return nil
	}
	out := make(map[string][]string, len(arrived))
	for join, from := range arrived {
		out[join] = slices.Clone(from)
	}
	return out
}

// Clone returns a copy that shares nothing with c.
func (c Checkpoint) Clone() Checkpoint {
	c.Channels = maps.Clone(c.Channels)
	c.Next = CloneTasks(c.Next)
	c.Arrived = CloneArrived(c.Arrived)
	return c
}

// Clone returns a copy that shares nothing with w.
func (w TaskWrites) Clone() TaskWrites {
	w.Writes = slices.Clone(w.Writes)
	for i := range w.Writes {
		w.Writes[i].Value = slices.Clone(w.Writes[i].Value)
	}
	w.Goto = slices.Clone(w.Goto)
	for i := range w.Goto {
		w.Goto[i].Item = slices.Clone(w.Goto[i].Item)
	}
	w.Handled = w.Handled.Clone()
	return w
}

// Clone returns a copy that shares nothing with i.
func (i Interrupt) Clone() Interrupt {
	i.Value = slices.Clone(i.Value)
	i.Schema = slices.Clone(i.Schema)
	i.Answer = slices.Clone(i.Answer)
	return i
}

// Clone returns a copy that shares nothing with r.
func (r Record) Clone() Record {
	r.Decision = slices.Clone(r.Decision)
	r.Result = slices.Clone(r.Result)
	if r.Remote != nil {
		remote := *r.Remote
		r.Remote = &remote
	}
	if r.Input != nil {
		r.Input = r.Input.clone()
	}
	return r
}

func (i *Input) clone() *Input {
	c := Input{State: i.State}
	if i.State != nil {
		text := *i.State
		c.State = &text
	}
	if i.Requests != nil {
		c.Requests = make(map[string]json.RawMessage, len(i.Requests))
		for key, request := range i.Requests {
			c.Requests[key] = slices.Clone(request)
		}
	}
	return &c
}

// CloneItems copies the items of a log; the slice that comes back is never nil.
func CloneItems(items []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, len(items))
	for i, item := range items {
		out[i] = slices.Clone(item)
	}
	return out
}
