package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"junction/state"
)

// packer encodes what one operation stores, before its transaction begins, and
// gathers the large leaves on the way. The first error stays in err.
type packer struct {
	err   error
	blobs []blob
}

type blob struct {
	hash   string
	stored []byte
}

// value packs one JSON value.
func (p *packer) value(raw json.RawMessage) json.RawMessage {
	packed, leaves := state.Pack(raw)
	for _, l := range leaves {
		p.blob(l.Hash, l.Text)
	}
	return packed
}

func (p *packer) blob(hash string, data []byte) {
	for _, b := range p.blobs {
		if b.hash == hash {
			return
		}
	}
	stored, err := state.Squeeze(data)
	if err != nil {
		p.fail(err)
		return
	}
	p.blobs = append(p.blobs, blob{hash, stored})
}

func (p *packer) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// encode is JSON in which no character is escaped that need not be.
func (p *packer) encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		p.fail(err)
		return ""
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// values packs the values of channels. A list that is packed as a whole holds
// packed items.
func (p *packer) values(set map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(set))
	for name, v := range set {
		out[name] = p.value(v)
	}
	return out
}

// items packs the items added to append channels.
func (p *packer) items(app map[string][]json.RawMessage) map[string][]json.RawMessage {
	out := make(map[string][]json.RawMessage, len(app))
	for name, items := range app {
		packed := make([]json.RawMessage, len(items))
		for i, item := range items {
			packed[i] = p.value(item)
		}
		out[name] = packed
	}
	return out
}

// head encodes what a checkpoint's row holds beside values, key and lineage.
func (p *packer) head(c state.Checkpoint) headRow {
	h := headRow{Step: c.Step, Source: c.Source, Channels: c.Channels, Arrived: c.Arrived, Next: state.CloneTasks(c.Next)}
	for i := range h.Next {
		h.Next[i].Item = p.value(h.Next[i].Item)
	}
	if err := checkJSON(h.Next); err != nil {
		p.fail(err)
	}
	return h
}

func checkJSON(tasks []state.Task) error {
	for _, t := range tasks {
		if t.Item != nil && !json.Valid(t.Item) {
			return fmt.Errorf("task %s of node %q: its item is not JSON", t.ID, t.Node)
		}
	}
	return nil
}

// store puts the gathered leaves with a thread; those it has already are free.
func (p *packer) store(x *tx, t int64) error {
	for _, b := range p.blobs {
		if err := x.exec(`INSERT INTO blobs (t, hash, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, t, b.hash, b.stored); err != nil {
			return err
		}
	}
	return nil
}

// unpacker puts leaves back; each is read once.
type unpacker struct {
	fetch func(hash string) ([]byte, error)
	seen  map[string][]byte
}

func (u *unpacker) value(packed json.RawMessage) (json.RawMessage, error) {
	return state.Unpack(packed, func(hash string) ([]byte, error) {
		if text, ok := u.seen[hash]; ok {
			return text, nil
		}
		text, err := u.fetch(hash)
		if err != nil {
			return nil, err
		}
		if u.seen == nil {
			u.seen = make(map[string][]byte)
		}
		u.seen[hash] = text
		return text, nil
	})
}

// in unpacks a value where it stands.
func (u *unpacker) in(v *json.RawMessage) error {
	raw, err := u.value(*v)
	*v = raw
	return err
}

// readBlob scans one stored blob.
func readBlob(hash string, scan func(...any) error) ([]byte, error) {
	var stored []byte
	err := scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("blob %.12s…: %w", hash, state.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return state.Unsqueeze(stored)
}
