package mcp

import (
	"bytes"
	"encoding/json"
	"io"
)

// events is the event stream of one request. It ends with the answer: what comes
// after it is counted and dropped. (mcp-go takes the first answer, and a goroutine
// of it waits for ever to hand over a third.)
type events struct {
	io.ReadCloser
	ex    *exchange
	watch watch
	text  bool // the line that was begun holds something
	over  bool // the answer has been passed on
}

func (e *events) Read(p []byte) (int, error) {
	if e.over {
		return 0, io.EOF
	}
	n, err := e.ReadCloser.Read(p)
	if i := e.watch.answer(p[:n]); i >= 0 {
		e.over = true
		e.count(p[i:n])
		return i, nil
	}
	return n, err
}

// event returns how much of b belongs to the event that was begun, and whether its
// end is there: an empty line.
func (e *events) event(b []byte) (n int, whole bool) {
	for n < len(b) {
		line := b[n:]
		i := bytes.IndexByte(line, '\n')
		if i < 0 {
			e.text = e.text || len(bytes.TrimRight(line, "\r")) > 0
			return len(b), false
		}
		empty := !e.text && len(bytes.TrimRight(line[:i], "\r")) == 0
		n, e.text = n+i+1, false
		if empty {
			return n, true
		}
	}
	return n, false
}

// count takes what came along after the answer.
func (e *events) count(rest []byte) {
	for len(rest) > 0 {
		n, _ := e.event(rest)
		event := rest[:n]
		rest = rest[n:]
		if new(watch).answer(event) < 0 {
			continue
		}
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		kind := WrongID
		if json.Unmarshal(data(event), &m) == nil {
			if id, ok := requestID(m.ID); ok && id == e.ex.id {
				kind = DuplicateAnswer
			}
		}
		e.ex.asked.tally.add(kind)
	}
}

// data returns the data of an event, its lines joined.
func data(event []byte) []byte {
	var joined []byte
	for line := range bytes.Lines(event) {
		d, ok := bytes.CutPrefix(line, []byte("data:"))
		switch d = bytes.TrimSpace(d); {
		case !ok:
		case joined == nil:
			joined = d
		default:
			joined = append(append(bytes.Clone(joined), '\n'), d...)
		}
	}
	return joined
}
