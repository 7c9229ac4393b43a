package mcp

import (
	"strings"
	"testing"
)

func TestTheValuesOfATextAreCountedOutsideItsStrings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`7`:                             0,
		`[1,2,3]`:                       3,
		`{"a":{"b":[]},"c":2}`:          4,
		`"a,b{c[\",{\\"`:                0,
		`["\\",{"x":"]"},"\\\",",null]`: 5,
	} {
		for size := 1; size <= len(text); size++ {
			var c crowd
			for at := 0; at < len(text); at += size {
				c.take([]byte(text[at:min(at+size, len(text))]))
			}
			if c.values != want {
				t.Errorf("%s, in pieces of %d: %d values, want %d", text, size, c.values, want)
			}
		}
	}
	if long := []byte(`"` + strings.Repeat(",", 100) + `"`); crowded(long, 5) || !crowded([]byte("[1,2,3,4,5,6]"), 5) {
		t.Error("a long string is no crowd; a long list is one")
	}
}
