// Package view prints what Junction did: for people as text, for programs as
// JSON documents whose field names are part of the command line's contract.
package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// Style is how text is printed.
type Style struct {
	Color   bool
	Resume  string // the command that goes on with the thread
	Explain string // the command that says why it failed
}

// ANSI colours by what they mean.
const (
	good  = "32"
	bad   = "31"
	warn  = "33"
	faint = "2"
	bold  = "1"
)

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// JSON prints v as one indented document.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Clean removes control characters other than newline and tab, and direction
// marks: text from servers must not move a terminal's cursor.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, s)
}

// line is Clean on one line.
func line(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// reason is a failure's message as it is printed behind its node: without the
// node and superstep it begins with, which would push what matters out of a
// short line.
func reason(node, message string) string {
	message = Clean(message)
	rest, found := strings.CutPrefix(message, fmt.Sprintf("node %q (superstep ", node))
	if !found {
		return message
	}
	if _, rest, found = strings.Cut(rest, "): "); !found {
		return message
	}
	return rest
}

// millis is d in milliseconds with a tenth's precision.
func millis(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}

// took prints a duration the way people read it.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.1fms", millis(d))
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// printer remembers the first error of many prints.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Count is a number with its noun: 1 thread, 2 threads.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
