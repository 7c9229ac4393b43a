package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is what a checkpoint adds to its parent: the references as they stand
// after it, and the only values that have to be stored for it.
type Change struct {
	Channels map[string]ChannelRef
	Values   map[string]json.RawMessage   // last-value channels, under the new checkpoint's Seq
	Items    map[string][]json.RawMessage // append channels, under the new checkpoint's Seq
}

// NewChange computes what the checkpoint seq adds to the channels of its
// parent, by the rules of [Commit]: Set writes a last-value channel or begins a
// new generation of an append channel, Append adds to an append channel (and
// makes one of a channel that does not exist, even with no items). Both at once
// begin a generation and add to it. Appending to a last-value channel is an
// error that names it. The values are those of set and app, not copies.
func NewChange(parent map[string]ChannelRef, seq int64, set map[string]json.RawMessage, app map[string][]json.RawMessage) (Change, error) {
	if err := appendable(parent, app); err != nil {
		return Change{}, err
	}
	c := Change{Channels: make(map[string]ChannelRef, len(parent)+len(set)+len(app))}
	maps.Copy(c.Channels, parent)
	for name, value := range set {
		_, appended := app[name]
		if !appended && !parent[name].Log {
			c.Channels[name] = ChannelRef{Set: seq}
			c.value(name, value)
			continue
		}
		var items []json.RawMessage
		if err := json.Unmarshal(value, &items); err != nil {
			return Change{}, fmt.Errorf("channel %q is an append channel: it is set to a JSON array of its items: %w", name, err)
		}
		c.Channels[name] = ChannelRef{Set: seq, Log: true, Len: len(items)}
		c.items(name, items)
	}
	for name, items := range app {
		ref, ok := c.Channels[name]
		if !ok {
			ref = ChannelRef{Set: seq, Log: true}
		}
		ref.Len += len(items)
		c.Channels[name] = ref
		c.items(name, items)
	}
	return c, nil
}

func appendable(parent map[string]ChannelRef, app map[string][]json.RawMessage) error {
	var wrong []string
	for name := range app {
		if ref, ok := parent[name]; ok && !ref.Log {
			wrong = append(wrong, name)
		}
	}
	if wrong == nil {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("cannot append to %s: it holds a last value, not a list of items; set it instead", strings.Join(wrong, ", "))
}

func (c *Change) value(name string, value json.RawMessage) {
	if c.Values == nil {
		c.Values = make(map[string]json.RawMessage)
	}
	c.Values[name] = value
}

func (c *Change) items(name string, items []json.RawMessage) {
	if len(items) == 0 {
		return
	}
	if c.Items == nil {
		c.Items = make(map[string][]json.RawMessage)
	}
	if old := c.Items[name]; len(old) > 0 {
		items = slices.Concat(old, items)
	}
	c.Items[name] = items
}
