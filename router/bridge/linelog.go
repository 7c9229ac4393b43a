package bridge

import (
	"context"
	"log/slog"
)

// mostUntold bounds what waits for a logger; what comes then is left out.
const mostUntold = 64

// telling is what waits for a logger that may block, as one does whose reader stopped.
// The line's lock guards it.
type telling struct {
	words   []word
	leftOut int  // since the last of words
	busy    bool // the logger has one
}

type word struct {
	level slog.Level
	text  string
	args  []any
}

// say has something logged, after what was said before and without the lock, which its
// caller holds.
func (l *Line) say(level slog.Level, text string, args ...any) {
	if len(l.telling.words) >= mostUntold {
		l.telling.leftOut++
		return
	}
	l.telling.words = append(l.telling.words, word{level, text, append([]any{"server", l.o.Name}, args...)})
	if !l.telling.busy {
		l.telling.busy = true
		l.work.Go(l.log)
	}
}

// log logs until nothing is left to say.
func (l *Line) log() {
	for w, ok := l.word(); ok; w, ok = l.word() {
		l.o.Logger.Log(context.Background(), w.level, w.text, w.args...)
	}
}

// word takes out what is said next.
func (l *Line) word() (word, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &l.telling
	switch {
	case len(t.words) > 0:
		w := t.words[0]
		t.words = t.words[1:]
		return w, true
	case t.leftOut > 0:
		w := word{slog.LevelWarn, "what happened to a server was left out here: the log was not read", []any{"server", l.o.Name, "events", t.leftOut}}
		t.leftOut = 0
		return w, true
	}
	t.busy = false
	return word{}, false
}
