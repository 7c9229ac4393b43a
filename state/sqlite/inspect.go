package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	sqlite3 "modernc.org/sqlite"

	"junction/state"
)

const (
	headerSize = 100
	magic      = "SQLite format 3\x00"
	// A file up to this size is checked page by page when it is opened (a few
	// milliseconds); in a larger one damage shows when it is read.
	checkedSize = 4 << 20
)

// inspect refuses a file that must not be touched. It reads the header itself
// before SQLite sees the file, because SQLite may write beside what it opens.
func inspect(ctx context.Context, path string) error {
	size, err := inspectHeader(path)
	if err != nil || size == 0 {
		return err
	}
	for tries := 1; ; tries++ {
		before := stamp(path)
		err := inspectQuietly(ctx, path, size)
		// Damage seen while someone else was writing need not be any.
		if !errors.Is(err, state.ErrCorrupt) || tries == inspections || stamp(path) == before {
			return err
		}
	}
}

// inspections is how often a file that keeps changing is looked at.
const inspections = 3

// inspectQuietly opens the file for reading. A file that nobody has open is
// declared immutable, because SQLite would else put a log and an index beside it.
func inspectQuietly(ctx context.Context, path string, size int64) error {
	uri := dsn(path, "busy_timeout(5000)") + "&mode=ro"
	if !exists(path+"-wal") && !exists(path+"-journal") {
		uri += "&immutable=1"
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(inspectContent(ctx, db, size), db.Close())
}

// fileStamp changes when someone writes to a file or to its log.
type fileStamp struct {
	size, modified int64
	log            bool
}

func stamp(path string) (s fileStamp) {
	if info, err := os.Stat(path); err == nil {
		s.size, s.modified = info.Size(), info.ModTime().UnixNano()
	}
	s.log = exists(path+"-wal") || exists(path+"-journal")
	return s
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// inspectHeader returns the file's size; an empty file is a new one.
func inspectHeader(path string) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	var h [headerSize]byte
	if _, err := io.ReadFull(f, h[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	if string(h[:len(magic)]) != magic {
		return 0, fmt.Errorf("%w: the file is not a SQLite database; name another file, or move this one away", state.ErrCorrupt)
	}
	if id := binary.BigEndian.Uint32(h[68:]); id != applicationID {
		return 0, fmt.Errorf("%w: the file is the database of another program (application id %#x); name another file", state.ErrCorrupt, id)
	}
	return info.Size(), checkVersion(int(binary.BigEndian.Uint32(h[60:])))
}

// inspectContent looks at the schema and, in a small file, at every page.
func inspectContent(ctx context.Context, db *sql.DB, size int64) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return damage(err)
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'").Scan(&tables); err != nil {
		return damage(err)
	}
	if size > checkedSize {
		return nil
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return damage(err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s; restore the file from a copy, or move it away", state.ErrCorrupt, verdict)
	}
	return nil
}

func checkVersion(version int) error {
	if version > schemaVersion {
		return fmt.Errorf("%w: schema %d, this program knows %d; use the newer program", state.ErrNewer, version, schemaVersion)
	}
	return nil
}

// damage passes on what says that the file is damaged. Anything else (a lock, a
// journal to be rolled back) is for the connection that may write to settle.
func damage(err error) error {
	if err = translate(err); errors.Is(err, state.ErrCorrupt) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// Primary result codes of SQLite; the low byte of every code it gives.
const (
	codeBusy    = 5
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

// code is the primary result code of an error of SQLite's, else 0.
func code(err error) int {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// translate gives errors of SQLite's that callers can act upon a name.
func translate(err error) error {
	switch code(err) {
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%w: %w; restore the file from a copy, or move it away", state.ErrCorrupt, err)
	case codeBusy:
		return fmt.Errorf("another process keeps the database locked: %w; try again, or see who has the file open", err)
	case codeFull:
		return fmt.Errorf("the disk is full: %w; free some space and resume", err)
	default:
		return err
	}
}
