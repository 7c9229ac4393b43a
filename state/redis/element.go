package redis

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"junction/state"
)

// An element of the list of heads is "SEQ TIME\nREFS\nREST": the time in Unix µs,
// the references as JSON {"channel": [Seq] or, of an append channel, [Seq,
// length]}, which scripts read, and the rest as JSON, which they do not.

// rest is what a head holds beside its references.
type rest struct {
	Step    int                 `json:"step,omitempty"`
	Next    []state.Task        `json:"next,omitempty"`
	Arrived map[string][]string `json:"arrived,omitempty"`
}

// appendRefs appends references as JSON, in order of channel.
func appendRefs(out []byte, channels map[string]state.ChannelRef) []byte {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(channels)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendName(out, name)
		ref := channels[name]
		out = strconv.AppendInt(append(out, ':', '['), ref.Set, 10)
		if ref.Log {
			out = strconv.AppendInt(append(out, ','), int64(ref.Len), 10)
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendName appends a name as a JSON string.
func appendName(out []byte, name string) []byte {
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
	if plain {
		return append(append(append(out, '"'), name...), '"')
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err) // of a string, never
	}
	return append(out, quoted...)
}

// text is an element without its first line, which the script writes.
func (p *packer) text(channels map[string]state.ChannelRef, rest string) []byte {
	out := make([]byte, 0, 24*len(channels)+len(rest)+8)
	return append(append(appendRefs(out, channels), '\n'), rest...)
}

var errElement = errors.New("not in the form of a checkpoint")

// decodeHead reads an element's identity and references, and returns the rest.
func decodeHead(element string) (h head, tail string, err error) {
	first, tail, ok := strings.Cut(element, "\n")
	refs, tail, more := strings.Cut(tail, "\n")
	seq, at, two := strings.Cut(first, " ")
	if !ok || !more || !two {
		return head{}, "", errElement
	}
	if h.seq, err = strconv.ParseInt(seq, 10, 64); err != nil {
		return head{}, "", errElement
	}
	if h.at, err = strconv.ParseInt(at, 10, 64); err != nil {
		return head{}, "", errElement
	}
	var lists map[string][]int64
	if err := json.Unmarshal([]byte(refs), &lists); err != nil {
		return head{}, "", err
	}
	h.channels = make(map[string]state.ChannelRef, len(lists))
	for name, list := range lists {
		switch len(list) {
		case 1:
			h.channels[name] = state.ChannelRef{Set: list[0]}
		case 2:
			h.channels[name] = state.ChannelRef{Set: list[0], Log: true, Len: int(list[1])}
		default:
			return head{}, "", fmt.Errorf("channel %q: %w", name, errElement)
		}
	}
	return h, tail, nil
}

// decodeCheckpoint reads an element whole; want is the Seq that it must have.
func decodeCheckpoint(id, lineage string, want int64, element string, u *state.Unpacker) (state.Checkpoint, error) {
	h, tail, err := decodeHead(element)
	if err == nil && h.seq != want {
		err = fmt.Errorf("checkpoint %d stands in its place", h.seq)
	}
	var r rest
	if err == nil {
		err = json.Unmarshal([]byte(tail), &r)
	}
	if err != nil {
		return state.Checkpoint{}, fmt.Errorf("checkpoint %d: %w: %w", want, state.ErrCorrupt, err)
	}
	for i := range r.Next {
		if err := u.In(&r.Next[i].Item); err != nil {
			return state.Checkpoint{}, fmt.Errorf("checkpoint %d: task %s: %w", want, r.Next[i].ID, err)
		}
	}
	source := "step"
	if h.seq == 1 {
		source = "input"
	}
	return state.Checkpoint{
		Thread: id, Seq: h.seq, Parent: h.seq - 1, Lineage: lineage, Step: r.Step, Source: source,
		Channels: h.channels, Next: r.Next, Arrived: r.Arrived, Created: unixMicro(h.at),
	}, nil
}
