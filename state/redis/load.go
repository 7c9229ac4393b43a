package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"junction/state"
)

var (
	loadScript    = load("load.lua", true)
	historyScript = load("history.lua", true)
)

// Load returns a checkpoint with its values; 0 is the head.
func (s *Store) Load(ctx context.Context, id string, seq int64) (state.Snapshot, error) {
	r, _, err := s.run(ctx, "load thread "+id, id, loadScript, []any{seq})
	switch {
	case err != nil:
		return state.Snapshot{}, err
	case r.word() == "gone":
		return state.Snapshot{}, notFound(id)
	case r.word() == "none":
		return state.Snapshot{}, fmt.Errorf("thread %s: checkpoint %d: %w", id, seq, state.ErrNotFound)
	}
	snap := state.Snapshot{Values: make(map[string]json.RawMessage), Logs: make(map[string][]json.RawMessage)}
	l := loader{snap: &snap}
	l.Fetch = func(hash string) (data []byte, err error) {
		data, l.trouble = s.fetch(ctx, id, hash)
		return data, l.trouble
	}
	if snap.Checkpoint, err = decodeCheckpoint(id, r.text(1), r.number(2), r.text(3), &l.Unpacker); err == nil {
		err = errors.Join(l.values(r.list(4)), l.logs(r.number(5), r.list(6)))
	}
	if err == nil && r.text(7) == "1" {
		s.heads.saw(id, head{seq: snap.Seq, at: snap.Created.UnixMicro(), channels: maps.Clone(snap.Channels)})
		err = errors.Join(l.underway(r.list(8)), l.records(id, r.list(8), r.list(9)))
	}
	if err != nil {
		return state.Snapshot{}, fmt.Errorf("thread %s: %w", id, err)
	}
	return snap, nil
}

// loader fills a snapshot from what the script read.
type loader struct {
	state.Unpacker
	snap    *state.Snapshot
	trouble error // of the newest large value that was fetched
}

// unreadable says of an error that what was stored is to blame, unless a large
// value could not be had.
func (l *loader) unreadable(err error) error {
	if err == nil || l.trouble != nil {
		return err
	}
	return fmt.Errorf("%w: %w", state.ErrCorrupt, err)
}

// values reads [Seq, frame, …].
func (l *loader) values(frames reply) error {
	for i := 0; i+1 < len(frames); i += 2 {
		set := frames.number(i)
		err := state.Unframe([]byte(frames.text(i+1)), func(channel string, values []json.RawMessage) (err error) {
			if ref, ok := l.snap.Channels[channel]; ok && !ref.Log && ref.Set == set && len(values) == 1 {
				l.snap.Values[channel], err = l.Value(values[0])
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("values of checkpoint %d: %w", set, l.unreadable(err))
		}
	}
	for channel, ref := range l.snap.Channels {
		if _, ok := l.snap.Values[channel]; !ok && !ref.Log {
			return fmt.Errorf("%w: channel %q has no value at checkpoint %d", state.ErrCorrupt, channel, ref.Set)
		}
	}
	return nil
}

// logs reads the frames that checkpoints from first on added.
func (l *loader) logs(first int64, frames reply) error {
	for channel, ref := range l.snap.Channels {
		if ref.Log {
			l.snap.Logs[channel] = make([]json.RawMessage, 0, ref.Len)
		}
	}
	for i := range frames {
		seq := first + int64(i)
		err := state.Unframe([]byte(frames.text(i)), func(channel string, items []json.RawMessage) error {
			ref, ok := l.snap.Channels[channel]
			if !ok || !ref.Log || seq < ref.Set {
				return nil // of an earlier generation
			}
			for i := range items {
				if err := l.In(&items[i]); err != nil {
					return err
				}
			}
			l.snap.Logs[channel] = append(l.snap.Logs[channel], items...)
			return nil
		})
		if err != nil {
			return fmt.Errorf("append channels of checkpoint %d: %w", seq, l.unreadable(err))
		}
	}
	for channel, ref := range l.snap.Channels {
		if ref.Log && len(l.snap.Logs[channel]) != ref.Len {
			return fmt.Errorf("%w: channel %q has %d items at checkpoint %d, not %d", state.ErrCorrupt, channel, len(l.snap.Logs[channel]), l.snap.Seq, ref.Len)
		}
	}
	return nil
}

// Checkpoints returns checkpoints without values, newest first.
func (s *Store) Checkpoints(ctx context.Context, id string, before int64, limit int) ([]state.Checkpoint, error) {
	r, _, err := s.run(ctx, "read the history of thread "+id, id, historyScript, []any{max(before, 0), max(limit, 0)})
	if err != nil {
		return nil, err
	}
	if r.word() == "gone" {
		return nil, notFound(id)
	}
	u, first, elements := s.unpacker(ctx, id), r.number(2), r.list(3)
	out := make([]state.Checkpoint, 0, len(elements))
	for i := range slices.Backward(elements) {
		cp, err := decodeCheckpoint(id, r.text(1), first+int64(i), elements.text(i), u)
		if err != nil {
			return nil, fmt.Errorf("thread %s: %w", id, err)
		}
		out = append(out, cp)
	}
	return out, nil
}
