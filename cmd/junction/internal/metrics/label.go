package metrics

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Bounds of the values of labels that come from outside.
const (
	mostServers = 500
	mostNodes   = 200
	mostBytes   = 100
)

// other stands for all values beyond a bound, and outside of a list.
const other = "other"

// label is text from outside as a label's value: printable, short, never empty.
func label(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > mostBytes {
		cut := mostBytes
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	if text == "" {
		return other
	}
	return text
}

// bounded holds what is counted for each name, for so many names; what comes later
// is counted together. Looking one up takes no lock and allocates nothing.
type bounded[T any] struct {
	most int
	new  func(label string) *T

	known atomic.Pointer[map[string]*T]
	mu    sync.Mutex // of additions
	rest  func() *T
}

func newBounded[T any](most int, of func(label string) *T) *bounded[T] {
	b := &bounded[T]{most: most, new: of, rest: sync.OnceValue(func() *T { return of(other) })}
	b.known.Store(&map[string]*T{})
	return b
}

func (b *bounded[T]) of(name string) *T {
	known := *b.known.Load()
	if v := known[name]; v != nil {
		return v
	}
	if len(known) >= b.most {
		return b.rest()
	}
	return b.add(name)
}

func (b *bounded[T]) add(name string) *T {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := *b.known.Load()
	if v := known[name]; v != nil {
		return v
	}
	if len(known) >= b.most {
		return b.rest()
	}
	more := make(map[string]*T, len(known)+1)
	for k, v := range known {
		more[k] = v
	}
	v := b.new(label(name))
	more[name] = v
	b.known.Store(&more)
	return v
}
