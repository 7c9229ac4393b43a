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

	"junction/state/ledger"
)

const (
	readers   = 4
	beginWait = 100 * time.Millisecond // SQLite's own wait for a lock, before we look around
	readBusy  = 5 * time.Second
)

//go:embed schema.sql
var schema string

// Options configure a store; nil is the zero value.
type Options struct {
	// Busy is how long a transaction waits for another process that is writing
	// before it is ledger.ErrBusy. 0: 10 s.
	Busy time.Duration
	// Now is the wall clock, of leases and expiry. nil: time.Now.
	Now func() time.Time
}

// Store is a ledger in a file, which may hold the author's tables as well. It is
// safe for concurrent use, and several processes may share the file.
type Store struct {
	path        string
	o           Options
	read, write *sql.DB
}

var _ ledger.Transactor = (*Store)(nil)

// Open opens the file at path, made with its directory when it is not there, and
// its table junction_ledger.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	s := &Store{}
	if o != nil {
		s.o = *o
	}
	if s.o.Busy == 0 {
		s.o.Busy = 10 * time.Second
	}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	var err error
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", s.path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	if err := prepareFile(s.path); err != nil {
		return err
	}
	s.write, err = sql.Open("sqlite", dsn(s.path, "immediate", beginWait, "synchronous(FULL)", "fullfsync(1)", "foreign_keys(1)"))
	if err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	s.read, err = sql.Open("sqlite", dsn(s.path, "deferred", readBusy, "query_only(1)"))
	if err != nil {
		return errors.Join(err, s.write.Close())
	}
	s.read.SetMaxOpenConns(readers)
	if err = s.setUp(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// setUp turns on the write-ahead log and makes the table.
func (s *Store) setUp(ctx context.Context) error {
	err := s.whileBusy(ctx, func() error {
		var mode string
		if err := s.write.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" {
			return fmt.Errorf("the file system does not allow a write-ahead log (journal mode stays %q); put the file on a local disk", mode)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// Close lets go of the file. Claims stay.
func (s *Store) Close() error {
	if err := errors.Join(s.read.Close(), s.write.Close()); err != nil {
		return fmt.Errorf("close ledger %s: %w", s.path, err)
	}
	return nil
}

// Reader returns connections that can only read, for the author's queries.
func (s *Store) Reader() *sql.DB { return s.read }

// now is the store's clock, as exact as its rows.
func (s *Store) now() time.Time { return s.o.Now().Truncate(time.Microsecond) }

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
func dsn(path, lock string, busy time.Duration, pragmas ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	pragmas = append(pragmas, fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()))
	u := url.URL{Scheme: "file", Path: p, RawQuery: url.Values{"_pragma": pragmas, "_txlock": {lock}}.Encode()}
	return u.String()
}
