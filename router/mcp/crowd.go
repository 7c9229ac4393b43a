package mcp

import "fmt"

// An answer within its limit of bytes may still be many times as large once it is
// read: an empty object takes three bytes on the wire and some fifty in memory.
// So its values are counted as well, at most one for each bytesAValue of the limit.
const (
	bytesAValue  = 32
	fewestValues = 1 << 16 // are always allowed
)

var errCrowded = fmt.Errorf("%w: it holds too many values", errTooLarge)

func mostValues(limit int) int { return max(limit/bytesAValue, fewestValues) }

// crowd counts the values of a JSON text, a piece at a time: what begins a list or
// an object or follows a comma. It does not judge whether it is one.
type crowd struct {
	values  int
	quoted  bool
	escaped bool
}

func (c *crowd) take(text []byte) {
	for _, b := range text {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == ',', b == '[', b == '{':
			c.values++
		}
	}
}

// crowded reports a text of more values than most.
func crowded(text []byte, most int) bool {
	if len(text) <= most {
		return false
	}
	var c crowd
	c.take(text)
	return c.values > most
}
