package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	driver "modernc.org/sqlite"

	"junction/state/ledger"
)

type txKey struct{}

// inside is the transaction that a context is in, and whose it is.
type inside struct {
	store *Store
	tx    *sql.Tx
}

// Tx returns the transaction that an effect runs inside of; nil outside of one.
// The effect neither commits nor ends it.
func Tx(ctx context.Context) *sql.Tx {
	in, _ := ctx.Value(txKey{}).(inside)
	return in.tx
}

// Write runs do in a transaction that nobody else's write comes between, for the
// author's own tables. An error or a panic undoes it. Where another process holds
// the file for longer than Options.Busy, do is not called and the error is
// ledger.ErrBusy.
func (s *Store) Write(ctx context.Context, do func(context.Context, *sql.Tx) error) (err error) {
	if in, _ := ctx.Value(txKey{}).(inside); in.store == s {
		return ledger.ErrNested
	}
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var tx *sql.Tx
	err = s.whileBusy(ctx, func() (err error) {
		// Not ctx's: between the last statement and the commit a cancel would leave
		// open which of the two it was.
		tx, err = conn.BeginTx(context.WithoutCancel(ctx), nil)
		return err
	})
	if err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			// A statement that was cut off may have ended the transaction by itself.
			if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) && code(undo) != codeError {
				err = errors.Join(err, undo)
			}
		}
	}()
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// whileBusy tries again, for a bounded time, while another process holds the file.
func (s *Store) whileBusy(ctx context.Context, try func() error) error {
	limit := time.NewTimer(s.o.Busy)
	defer limit.Stop()
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		err := try()
		if err == nil || !busy(err) {
			return err
		}
		select {
		case <-pause.C:
		case <-limit.C:
			return fmt.Errorf("%w: another process held the file for %v; try again: %w", ledger.ErrBusy, s.o.Busy, err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ledger.ErrBusy, ctx.Err())
		}
	}
}

// Primary result codes of SQLite.
const (
	codeError  = 1
	codeBusy   = 5
	codeLocked = 6
)

// code is the primary result code of an error, or -1.
func code(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return -1
}

func busy(err error) bool { return code(err) == codeBusy || code(err) == codeLocked }

// Transact runs run in the transaction that makes the key known.
func (s *Store) Transact(ctx context.Context, c ledger.Claim, run func(context.Context) ([]byte, bool, error)) (e ledger.Entry, ran bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var known bool
		if e, known, err = s.look(ctx, tx, c.Key); err != nil || known {
			return err
		}
		if _, err := tx.ExecContext(ctx, "SAVEPOINT junction_effect"); err != nil {
			return err
		}
		result, undo, err := run(context.WithValue(ctx, txKey{}, inside{s, tx}))
		if err != nil {
			return err
		}
		// The effect is complete: whoever leaves now comes too late.
		ctx = context.WithoutCancel(ctx)
		if undo {
			if _, err := tx.ExecContext(ctx, "ROLLBACK TO junction_effect"); err != nil {
				return err
			}
		}
		now := s.now()
		e = ledger.Entry{
			Key: c.Key, Fingerprint: c.Fingerprint, Receipt: c.Receipt, Owner: c.Owner, Claims: 1, Executions: 1,
			Done: true, Result: result, Claimed: now, Committed: now,
		}
		ran = true
		return insert(ctx, tx, e, expires(now, c.Keeps))
	})
	if err != nil {
		return ledger.Entry{}, false, err
	}
	return e, ran, nil
}
