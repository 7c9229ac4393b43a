package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// eventReader reads an event stream's data, event by event. Who bounds an event is
// what it reads from.
type eventReader struct {
	in    *bufio.Reader
	id    string        // of the last event that had one: where the stream goes on
	retry time.Duration // that the server asks for before that
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReader(r), retry: resumeAfter}
}

// from goes on with another stream.
func (s *eventReader) from(r io.Reader) { s.in.Reset(r) }

// next is the data of the next event that has any. At the stream's end an event is
// taken although nothing ends it, but for its id.
func (s *eventReader) next() ([]byte, error) {
	var event []byte
	id, named := "", false
	for {
		line, err := s.in.ReadBytes('\n')
		text := bytes.TrimRight(line, "\r\n")
		whole := err == nil && len(text) == 0
		if len(text) > 0 {
			event = append(append(event, text...), '\n')
			if v, ok := fieldValue(text, "id"); ok && !strings.Contains(v, "\x00") {
				id, named = v, true
			}
			if v, ok := fieldValue(text, "retry"); ok {
				if ms, err := strconv.ParseUint(v, 10, 31); err == nil {
					s.retry = time.Duration(ms) * time.Millisecond
				}
			}
		}
		if !whole && err == nil {
			continue
		}
		if named && whole {
			s.id = id
		}
		if message := data(event); len(message) > 0 && (whole || errors.Is(err, io.EOF)) {
			return message, nil
		}
		if err != nil {
			return nil, err
		}
		event, named = event[:0], false
	}
}

// fieldValue is that of a line's field, if it has this name.
func fieldValue(line []byte, name string) (string, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(name+":"))
	return string(bytes.TrimPrefix(rest, []byte(" "))), ok
}
