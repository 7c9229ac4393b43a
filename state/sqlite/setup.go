package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// openWriter opens the writing connection and brings the file to today's form.
func openWriter(ctx context.Context, path string, o *Options) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(path,
		fmt.Sprintf("busy_timeout(%d)", beginWait.Milliseconds()),
		"synchronous(FULL)",
		"fullfsync(1)", // macOS: a plain fsync stops at the drive's cache
		"checkpoint_fullfsync(1)",
	))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := setUp(ctx, conn, o.Busy); err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return newWriter(db, conn, o), nil
}

// setUp creates the schema in an empty file, in the rollback journal, so that a
// crash leaves the file empty or whole; then it turns on the WAL.
func setUp(ctx context.Context, conn *sql.Conn, busy time.Duration) error {
	return whileBusy(ctx, busy, func() error {
		var version int
		if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if err := checkVersion(version); err != nil {
			return err
		}
		if version == 0 {
			if err := createSchema(ctx, conn); err != nil {
				return err
			}
		}
		var mode string
		if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return err
		}
		if mode != "wal" {
			return fmt.Errorf("the file system does not allow a write-ahead log (journal mode stays %q); put the file on a local disk", mode)
		}
		return addHealth(ctx, conn)
	})
}

func createSchema(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size = %d", pageSize)); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	create := func() error {
		var version int
		if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version != 0 {
			return err // not 0: another process was first
		}
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID, schemaVersion, schema))
		return err
	}
	if err := create(); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

// whileBusy tries again, for a bounded time, while another process holds a lock
// for which SQLite itself does not wait.
func whileBusy(ctx context.Context, limit time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := do()
		if code(err) != codeBusy {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
