package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// A frame holds values by channel: name, count, values; each name and value
// behind its length, lengths and counts as uvarints, channels in order of name.
// Values keep their bytes, and nothing is escaped or parsed.

var errFrame = errors.New("stored values are cut short")

// Frame encodes lists of values by channel. An empty frame is nil.
func Frame(channels map[string][]json.RawMessage) []byte {
	if len(channels) == 0 {
		return nil
	}
	size := 0
	for name, values := range channels {
		size += len(name) + 2*binary.MaxVarintLen32
		for _, v := range values {
			size += len(v) + binary.MaxVarintLen32
		}
	}
	out := make([]byte, 0, size)
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		out = binary.AppendUvarint(out, uint64(len(name)))
		out = append(out, name...)
		out = binary.AppendUvarint(out, uint64(len(channels[name])))
		for _, v := range channels[name] {
			out = binary.AppendUvarint(out, uint64(len(v)))
			out = append(out, v...)
		}
	}
	return out
}

// FrameValues frames one value a channel.
func FrameValues(values map[string]json.RawMessage) []byte {
	lists := make(map[string][]json.RawMessage, len(values))
	for name, v := range values {
		lists[name] = []json.RawMessage{v}
	}
	return Frame(lists)
}

// Unframe calls each for every channel of a frame. The values are parts of data.
func Unframe(data []byte, each func(channel string, values []json.RawMessage) error) error {
	for len(data) > 0 {
		name, rest, err := cut(data)
		if err != nil {
			return err
		}
		count, n := binary.Uvarint(rest)
		if n <= 0 || count > uint64(len(rest)) {
			return errFrame
		}
		data = rest[n:]
		values := make([]json.RawMessage, count)
		for i := range values {
			if values[i], data, err = cut(data); err != nil {
				return err
			}
		}
		if err := each(string(name), values); err != nil {
			return err
		}
	}
	return nil
}

// cut takes a length and as many bytes off data.
func cut(data []byte) (value, rest []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, errFrame
	}
	end := n + int(size)
	return data[n:end:end], data[end:], nil
}
