package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"junction/state"
)

const (
	applicationID = 0x4a554e43 // "JUNC", in the file's header
	schemaVersion = 1
	pageSize      = 8192 // bytes: several commits of 1 KiB fit without much waste
	readers       = 4
	readerBusy    = 5 * time.Second
)

//go:embed schema.sql
var schema string

// Options configures a store; nil is the zero value.
type Options struct {
	// Busy is how long a write waits for another process that is writing before
	// it fails. 0: 10 s.
	Busy time.Duration
	// Now is the wall clock, for leases and timestamps. nil: time.Now.
	Now func() time.Time
}

// Store keeps threads in one file. It is safe for concurrent use.
type Store struct {
	path  string
	read  *sql.DB
	write *writer
	self  process
}

var _ state.Store = (*Store)(nil)

// Open opens the database at path and creates it, with its directory, when it
// is not there. A file that is no database of ours, or a damaged one, is
// state.ErrCorrupt; one of a newer version is state.ErrNewer: neither is
// touched.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	if o.Busy == 0 {
		o = &Options{Busy: 10 * time.Second, Now: o.Now}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if err := prepareFile(abs); err != nil {
		return nil, fmt.Errorf("open database %s: %w", abs, err)
	}
	if err := inspect(ctx, abs); err != nil {
		return nil, fmt.Errorf("open database %s: %w", abs, err)
	}
	w, err := openWriter(ctx, abs, o)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", abs, translate(err))
	}
	read, err := sql.Open("sqlite", dsn(abs, "query_only(1)", fmt.Sprintf("busy_timeout(%d)", readerBusy.Milliseconds())))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", abs, err), w.close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return &Store{path: abs, read: read, write: w, self: thisProcess()}, nil
}

// Close waits for the write under way and lets go of the file. Leases stay.
func (s *Store) Close() error {
	if err := errors.Join(s.read.Close(), s.write.close()); err != nil {
		return fmt.Errorf("close database %s: %w", s.path, err)
	}
	return nil
}

// prepareFile makes the directory and an empty file for its owner alone.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn names the file as a URI, so that no character of its path has a meaning.
func dsn(path string, pragmas ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}
