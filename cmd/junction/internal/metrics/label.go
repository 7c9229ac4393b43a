package metrics

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

	known atomic.Pointer[map[string]*held[T]]
	mu    sync.Mutex // of changes
	rest  func() *T
	swept time.Time
}

// held is what is counted for one name.
type held[T any] struct {
	of    *T
	label string
	used  atomic.Bool // since the last sweep
	idle  int         // sweeps in a row that found it unused
}

func newBounded[T any](most int, of func(label string) *T) *bounded[T] {
	b := &bounded[T]{most: most, new: of, rest: sync.OnceValue(func() *T { return of(other) })}
	b.known.Store(&map[string]*held[T]{})
	return b
}

func (b *bounded[T]) of(name string) *T {
	known := *b.known.Load()
	if h := known[name]; h != nil {
		if !h.used.Load() { // it is written seldom, for all who count read it
			h.used.Store(true)
		}
		return h.of
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
	if h := known[name]; h != nil {
		return h.of
	}
	if len(known) >= b.most {
		return b.rest()
	}
	more := maps.Clone(known)
	h := &held[T]{label: label(name)}
	h.of = b.new(h.label)
	h.used.Store(true)
	more[name] = h
	b.known.Store(&more)
	return h.of
}

// A name that is of no use for an hour makes room: instances come and go under names
// of their own.
const (
	sweepEvery = 10 * time.Minute
	sweepsIdle = 6
)

// sweep drops what was not used for long, and tells of each label.
func (b *bounded[T]) sweep(now time.Time, drop func(label string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.swept) < sweepEvery {
		return
	}
	b.swept = now
	stay := maps.Clone(*b.known.Load())
	for name, h := range stay {
		if h.idle++; h.used.Swap(false) {
			h.idle = 0
		}
		if h.idle >= sweepsIdle {
			delete(stay, name)
			drop(h.label)
		}
	}
	b.known.Store(&stay)
}
