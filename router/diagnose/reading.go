package diagnose

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// reading is a capability document as Junction's own client reads it, in a session
// of its own.
type reading struct {
	description *router.Description // nil where err is not
	err         error
	left        []string // tools that were left out, and why
	took        time.Duration
}

// describe reads it with a client that knows nothing yet.
func (p *patient) describe(ctx context.Context) *reading {
	began := time.Now()
	heard := &listener{}
	within := 2 * p.o.Patience
	if p.url == nil {
		within = p.o.Start
	}
	client := mcp.New(&mcp.Options{ConnectTimeout: within, Logger: slog.New(heard), Self: p.o.Self, ClientName: "junction-diagnose", Grace: time.Second})
	r := &reading{}
	r.description, r.err = client.Describe(ctx, p.server)
	r.took = time.Since(began)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.o.Patience)
	defer cancel()
	if err := client.Close(ending); err != nil && r.err == nil {
		r.err = err
	}
	r.left = heard.all()
	return r
}

// code is that of a reading's failure.
func (r *reading) code() router.Code {
	if e, ok := errors.AsType[*router.CallError](r.err); ok {
		return e.Code
	}
	return ""
}

// listener keeps what a client warns of.
type listener struct {
	mu    sync.Mutex
	lines []string
}

// mostWarnings bounds what is kept.
const mostWarnings = 20

func (l *listener) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *listener) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *listener) WithGroup(string) slog.Handler                    { return l }

// Handle implements [slog.Handler].
func (l *listener) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += ", " + a.Key + " " + a.Value.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < mostWarnings {
		l.lines = append(l.lines, clean(text))
	}
	return nil
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}
