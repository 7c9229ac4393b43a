package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"github.com/lmittmann/tint"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/graph"
	"junction/state"
	"junction/state/document"
	"junction/state/redis"
)

// clean strips control characters that servers or files could have put into a
// message before it reaches a terminal.
func clean(s string) string { return view.Clean(s) }

// isBadFile reports whether err lies in a file or its contents.
func isBadFile(err error) bool {
	var faults document.Faults
	var spec *graph.SpecError
	return errors.As(err, &faults) || errors.As(err, &spec)
}

// isBadAnswer reports whether an answer to a thread that exists was refused: of
// the wrong type, given before, to a question nobody asked, or to one of several
// without saying which. The thread still waits.
func isBadAnswer(err error) bool {
	var answer *graph.AnswerError
	var ambiguous *graph.AmbiguousAnswerError
	return errors.As(err, &answer) || errors.As(err, &ambiguous) || errors.Is(err, state.ErrAnswered) || errors.Is(err, state.ErrNotFound)
}

func isNotFound(err error) bool { return errors.Is(err, state.ErrNotFound) }

// wireError sorts what can go wrong while store and servers are opened.
func wireError(err error) error {
	var config *wire.ConfigError
	var address *redis.AddressError
	switch {
	case errors.Is(err, wire.ErrNoStore):
		return failed(err, "junction run FILE, or --store ADDRESS if threads are kept elsewhere")
	case errors.Is(err, state.ErrNewer):
		return failed(err, "use the version of junction that wrote it, or another --store")
	case errors.Is(err, state.ErrUnavailable):
		return failed(err, "see that the store runs and can be reached, or use another --store")
	case errors.Is(err, state.ErrCorrupt):
		return failed(err, "restore it from a copy, or use another --store")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return failed(err, "--store sqlite:PATH with a path that can be written")
	case errors.As(err, &config), errors.As(err, &address), isBadFile(err), errors.Is(err, wire.ErrAddress), errors.Is(err, wire.ErrNoQueue):
		return usage(err)
	}
	return err
}

func closeStore(s io.Closer, con console) {
	if err := s.Close(); err != nil {
		fmt.Fprintf(con.err, "junction: closing the store: %v\n", err)
	}
}

func closeApp(a *wire.App, con console) {
	if err := a.Close(); err != nil {
		fmt.Fprintf(con.err, "junction: closing: %v\n", err)
	}
}

// logger writes warnings for people to stderr.
func logger(con console) *slog.Logger { return leveled(con, slog.LevelWarn) }

func leveled(con console, level slog.Level) *slog.Logger {
	return slog.New(tint.NewTextHandler(con.err, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !con.colorErr}))
}
