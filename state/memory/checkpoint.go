package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"junction/state"
)

// Commit advances the head by one superstep.
func (s *Store) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	if err := state.CheckCommit(c); err != nil {
		return state.Checkpoint{}, err
	}
	t, err := s.lock(ctx, c.Lease.Thread)
	if err != nil {
		if ctx.Err() == nil {
			err = state.Vanished(c.Lease)
		}
		return state.Checkpoint{}, err
	}
	defer t.mu.Unlock()
	head := &t.checkpoints[len(t.checkpoints)-1]
	if c.WriteID != "" && c.WriteID == t.writeID {
		return head.Clone(), nil // the reply was lost, the commit was not
	}
	now := s.now()
	if err := t.check(c.Lease, now); err != nil {
		return state.Checkpoint{}, err
	}
	if err := t.underway(c.Parent); err != nil {
		return state.Checkpoint{}, err
	}
	change, err := state.NewChange(head.Channels, head.Seq+1, c.Set, c.Append)
	if err != nil {
		return state.Checkpoint{}, fmt.Errorf("commit thread %s: %w", t.info.ID, err)
	}
	next := state.Checkpoint{
		Thread: t.info.ID, Seq: head.Seq + 1, Parent: head.Seq, Lineage: t.lineage, Step: c.Step, Source: "step",
		Channels: change.Channels, Next: state.CloneTasks(c.Next), Arrived: state.CloneArrived(c.Arrived), Created: now,
	}
	s.putRecords(t, c.Records)
	t.dropResults()
	t.keep(next.Seq, change)
	clear(t.pending)
	clear(t.interrupts)
	t.checkpoints = append(t.checkpoints, next)
	t.writeID = c.WriteID
	t.info.Head, t.info.Step, t.info.Status, t.info.Updated = next.Seq, next.Step, c.Status, now
	t.info.Failure = nil
	return next.Clone(), nil
}

// keep stores a copy of the values a checkpoint adds.
func (t *thread) keep(seq int64, change state.Change) {
	if t.values == nil {
		t.values, t.logs = make(map[string][]version), make(map[string][]generation)
	}
	for name, value := range change.Values {
		t.values[name] = append(t.values[name], version{seq, slices.Clone(value)})
	}
	for name, items := range change.Items {
		set := change.Channels[name].Set
		generations := t.logs[name]
		if n := len(generations); n == 0 || generations[n-1].set != set {
			generations = append(generations, generation{set: set})
		}
		last := &generations[len(generations)-1]
		for _, item := range items {
			last.items = append(last.items, slices.Clone(item))
		}
		t.logs[name] = generations
	}
}

// Load returns a checkpoint with its values; 0 is the head.
func (s *Store) Load(ctx context.Context, id string, seq int64) (state.Snapshot, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return state.Snapshot{}, err
	}
	defer t.mu.Unlock()
	if seq == 0 {
		seq = t.info.Head
	}
	if seq < 1 || seq > t.info.Head {
		return state.Snapshot{}, fmt.Errorf("thread %s: checkpoint %d: %w", id, seq, state.ErrNotFound)
	}
	snap := state.Snapshot{
		Checkpoint: t.checkpoints[seq-1].Clone(),
		Values:     make(map[string]json.RawMessage), Logs: make(map[string][]json.RawMessage),
	}
	for name, ref := range snap.Channels {
		if ref.Log {
			snap.Logs[name] = state.CloneItems(t.log(name, ref))
		} else {
			snap.Values[name] = slices.Clone(t.value(name, ref.Set))
		}
	}
	if seq == t.info.Head {
		t.addPending(&snap)
	}
	return snap, nil
}

// addPending copies what the superstep under way has reached.
func (t *thread) addPending(snap *state.Snapshot) {
	snap.Pending = make(map[string]state.TaskWrites, len(t.pending))
	for task, w := range t.pending {
		snap.Pending[task] = w.Clone()
	}
	for _, i := range slices.SortedFunc(maps.Values(t.interrupts), func(a, b state.Interrupt) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	}) {
		snap.Interrupts = append(snap.Interrupts, i.Clone())
	}
	for _, e := range slices.Backward(t.records) {
		if e.record.Seq == snap.Seq {
			snap.Records = append(snap.Records, e.record.Clone())
		}
	}
	state.SortRecords(snap.Records)
}

// value is the version that a checkpoint refers to.
func (t *thread) value(name string, set int64) json.RawMessage {
	for _, v := range slices.Backward(t.values[name]) {
		if v.seq == set {
			return v.value
		}
	}
	return nil
}

// log is the part of a generation that a checkpoint refers to.
func (t *thread) log(name string, ref state.ChannelRef) []json.RawMessage {
	for _, g := range slices.Backward(t.logs[name]) {
		if g.set == ref.Set {
			return g.items[:ref.Len]
		}
	}
	return nil // set, and nothing added yet
}

// Checkpoints returns checkpoints without values, newest first.
func (s *Store) Checkpoints(ctx context.Context, id string, before int64, limit int) ([]state.Checkpoint, error) {
	t, err := s.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer t.mu.Unlock()
	var out []state.Checkpoint
	for _, c := range slices.Backward(t.checkpoints) {
		if before > 0 && c.Seq >= before {
			continue
		}
		out = append(out, c.Clone())
		if limit > 0 && len(out) == limit {
			break
		}
	}
	return out, nil
}
