package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"junction/state/ledger"
)

// adopt takes over what is in the table of earlier versions, which kept keys there.
// It can be cut off anywhere, and goes on the next time.
func (l *Ledger) adopt(ctx context.Context) error {
	old, err := hasOld(ctx, l.store.Reader())
	if err != nil || !old {
		return err
	}
	entries, err := l.earlier(ctx)
	if err != nil {
		if still, lookErr := hasOld(ctx, l.store.Reader()); lookErr == nil && !still {
			return nil // another process has just finished
		}
		return err
	}
	for _, e := range entries {
		_, err := l.ledger.Do(ctx, e.call, func(context.Context, ledger.Run) (any, error) { return e.receipt, nil })
		if err != nil {
			return err
		}
	}
	return l.store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		still, err := hasOld(ctx, tx)
		if err != nil || !still { // another process was first
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT OR IGNORE INTO text SELECT id, key, text FROM publication; DROP TABLE publication")
		return err
	})
}

func hasOld(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (bool, error) {
	var n int
	err := from.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'publication'").Scan(&n)
	return n > 0, err
}

// entry is a key of an earlier version and what it was answered.
type entry struct {
	call    ledger.Call
	receipt json.RawMessage
}

func (l *Ledger) earlier(ctx context.Context) (entries []entry, err error) {
	rows, err := l.store.Reader().QueryContext(ctx, "SELECT key, fingerprint, receipt FROM publication ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		var receipt string
		if err := rows.Scan(&e.call.Key, &e.call.Fingerprint, &receipt); err != nil {
			return nil, err
		}
		e.receipt = json.RawMessage(receipt)
		entries = append(entries, e)
	}
	return entries, rows.Err()
}
