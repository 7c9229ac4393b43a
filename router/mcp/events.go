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
	ex   *exchange
	part []byte // of an event that is not whole yet
	text bool   // the line that was begun holds something
	over bool   // the answer has been passed on
}

func (e *events) Read(p []byte) (int, error) {
	if e.over {
		return 0, io.EOF
	}
	n, err := e.ReadCloser.Read(p)
	for at := 0; at < n; {
		end, whole := e.event(p[at:n])
		event := p[at : at+end]
		if len(e.part) > 0 || !whole {
			e.part = append(e.part, event...) // the stream's own limit bounds it
			event = e.part
		}
		at += end
		if !whole {
			break
		}
		if isAnswer(event) {
			e.over = true
			e.count(p[at:n])
			return at, nil
		}
		e.part = e.part[:0]
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
		if !isAnswer(event) {
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

// isAnswer reports whether an event holds a message with an id and without a
// method. Most are told without being parsed.
func isAnswer(event []byte) bool {
	if !bytes.Contains(event, []byte(`"id"`)) {
		return false
	}
	d := data(event)
	if !bytes.HasPrefix(d, []byte("{")) || !bytes.HasSuffix(d, []byte("}")) {
		return false
	}
	if !bytes.Contains(d, []byte(`"method"`)) {
		return true
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	return json.Unmarshal(d, &m) == nil && m.ID != nil && m.Method == nil
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
