package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
)

// glimpse is how much is kept of either end of a line that is too long.
const glimpse = 1024

// Lines reads a peer's messages, one a line, in bounded memory. It is for one
// goroutine.
type Lines struct {
	in    *bufio.Reader
	limit int
}

// NewLines reads lines of at most limit bytes.
func NewLines(in io.Reader, limit int) *Lines {
	return &Lines{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// SpoiledLine is a line that was skipped: it is longer than the limit, or holds more
// values than fit into memory that is a small multiple of the limit.
type SpoiledLine struct {
	ID  json.RawMessage // of its message, as written, where either end of it shows one
	Why error
}

// Next returns the next line, without its end and the caller's to keep, or what was
// skipped in its place. An error, at the end io.EOF, may come with a last line that
// has no end.
func (l *Lines) Next() (line []byte, spoiled *SpoiledLine, err error) {
	line, end, err := readLine(l.in, l.limit)
	switch {
	case end != nil:
		return nil, &SpoiledLine{ID: idAt(line, end), Why: errTooLarge}, err
	case crowded(line, mostValues(l.limit)):
		return nil, &SpoiledLine{ID: idAt(line, line), Why: errCrowded}, err
	}
	return line, nil, err
}

// readLine reads one line without its end. Of a line beyond limit it returns what
// it begins and what it ends with, and skips the rest; of any other end is nil.
func readLine(in *bufio.Reader, limit int) (line, end []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case end != nil:
		case len(line)+len(part) <= limit:
			line = append(line, part...)
		default:
			end = append(make([]byte, 0, 2*glimpse), line[max(0, len(line)-glimpse):]...)
			if len(line) == 0 {
				line = append(line, part[:min(len(part), glimpse)]...)
			}
		}
		if end != nil {
			tail := part[max(0, len(part)-glimpse):]
			if over := len(end) + len(tail) - glimpse; over > 0 {
				end = append(end[:0], end[min(over, len(end)):]...)
			}
			end = append(end, tail...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, end, err
		}
		return bytes.TrimRight(line, "\r\n"), end, err
	}
}

const idPattern = `"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)`

var (
	// Before any member that has members of its own, and after all of them.
	idFirst = regexp.MustCompile(`^\s*\{[^{\[]*?` + idPattern + `\s*[,}]`)
	idLast  = regexp.MustCompile(idPattern + `\s*\}\s*$`)
)

// idAt is the id of a message of which only both ends are there, nil where neither
// shows it.
func idAt(begin, end []byte) json.RawMessage {
	m := idFirst.FindSubmatch(begin[:min(len(begin), glimpse)])
	if m == nil {
		m = idLast.FindSubmatch(end[max(0, len(end)-glimpse):])
	}
	if m == nil {
		return nil
	}
	return bytes.Clone(m[1])
}
