package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// frame is one request or reply, as it went over the wire.
type frame []byte

// readFrame reads one whole value of RESP2 or RESP3, or one inline command.
func readFrame(r *bufio.Reader) (frame, error) {
	var f frame
	for open := 1; open > 0; open-- {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		f = append(f, line...)
		parts, size, err := inside(line)
		if err != nil {
			return nil, err
		}
		open += parts
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		f = append(f, body...)
	}
	return f, nil
}

// inside returns how many values a line opens, and how many bytes follow it.
func inside(line []byte) (parts, size int, err error) {
	kind := line[0]
	if !strings.ContainsRune("*~>%|$=!", rune(kind)) {
		return 0, 0, nil
	}
	n, err := strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n")))
	if err != nil {
		return 0, 0, fmt.Errorf("no RESP: %q", line)
	}
	switch {
	case n < 0: // null
		return 0, 0, nil
	case kind == '%':
		return 2 * n, 0, nil
	case kind == '|': // an attribute: its value follows
		return 2*n + 1, 0, nil
	case strings.ContainsRune("$=!", rune(kind)):
		return 0, n + 2, nil
	default:
		return n, 0, nil
	}
}

// runsScript says whether a request is EVAL or EVALSHA.
func (f frame) runsScript() bool {
	fields := bytes.SplitN(f, []byte("\r\n"), 4)
	return len(fields) == 4 && f[0] == '*' &&
		(bytes.EqualFold(fields[2], []byte("EVALSHA")) || bytes.EqualFold(fields[2], []byte("EVAL")))
}

// pushed says whether the server sent it unasked.
func (f frame) pushed() bool { return f[0] == '>' }

// unknownScript says whether the server did not have the script, so did nothing.
func (f frame) unknownScript() bool { return bytes.HasPrefix(f, []byte("-NOSCRIPT")) }
