package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Packer encodes what one operation of a backend stores, before its transaction
// begins, and gathers the large leaves on the way ([Pack]). The first error
// stays in Err.
type Packer struct {
	Err   error
	Blobs []StoredBlob // each hash once, in the order they came
}

// StoredBlob is data under its Hash in the form backends store ([Squeeze]).
type StoredBlob struct {
	Hash   string
	Stored []byte
}

// Value packs one JSON value.
func (p *Packer) Value(raw json.RawMessage) json.RawMessage {
	packed, leaves := Pack(raw)
	for _, l := range leaves {
		p.Blob(l.Hash, l.Text)
	}
	return packed
}

// Blob gathers data under its hash.
func (p *Packer) Blob(hash string, data []byte) {
	for _, b := range p.Blobs {
		if b.Hash == hash {
			return
		}
	}
	stored, err := Squeeze(data)
	if err != nil {
		p.Fail(err)
		return
	}
	p.Blobs = append(p.Blobs, StoredBlob{hash, stored})
}

// Fail keeps the first error.
func (p *Packer) Fail(err error) {
	if p.Err == nil {
		p.Err = err
	}
}

// Encode is JSON in which no character is escaped that need not be.
func (p *Packer) Encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		p.Fail(err)
		return ""
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// Values packs the values of channels. A list that is packed as a whole holds
// packed items.
func (p *Packer) Values(set map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(set))
	for name, v := range set {
		out[name] = p.Value(v)
	}
	return out
}

// Items packs the items added to append channels.
func (p *Packer) Items(app map[string][]json.RawMessage) map[string][]json.RawMessage {
	out := make(map[string][]json.RawMessage, len(app))
	for name, items := range app {
		packed := make([]json.RawMessage, len(items))
		for i, item := range items {
			packed[i] = p.Value(item)
		}
		out[name] = packed
	}
	return out
}

// Tasks packs the items of tasks. An item that is not JSON is an error that
// names its task.
func (p *Packer) Tasks(tasks []Task) []Task {
	out := CloneTasks(tasks)
	for i := range out {
		if out[i].Item != nil && !json.Valid(out[i].Item) {
			p.Fail(fmt.Errorf("task %s of node %q: its item is not JSON", out[i].ID, out[i].Node))
		}
		out[i].Item = p.Value(out[i].Item)
	}
	return out
}

// Writes packs the values of a task's writes.
func (p *Packer) Writes(w TaskWrites) TaskWrites {
	w = w.Clone()
	for i := range w.Writes {
		w.Writes[i].Value = p.Value(w.Writes[i].Value)
	}
	for i := range w.Goto {
		w.Goto[i].Item = p.Value(w.Goto[i].Item)
	}
	return w
}

// Unpacker puts leaves back; each is fetched once.
type Unpacker struct {
	Fetch func(hash string) ([]byte, error) // the data under a hash, not as it is stored

	seen map[string][]byte
}

// Value unpacks one JSON value.
func (u *Unpacker) Value(packed json.RawMessage) (json.RawMessage, error) {
	return Unpack(packed, func(hash string) ([]byte, error) {
		if text, ok := u.seen[hash]; ok {
			return text, nil
		}
		text, err := u.Fetch(hash)
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

// In unpacks a value where it stands.
func (u *Unpacker) In(v *json.RawMessage) error {
	raw, err := u.Value(*v)
	*v = raw
	return err
}
