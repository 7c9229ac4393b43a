package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"junction/state/ledger"
)

// sweep is how many expired entries a transaction removes along the way, more
// than it adds.
const sweep = 16

// Claim gives a free key to its owner.
func (s *Store) Claim(ctx context.Context, c ledger.Claim) (e ledger.Entry, mine bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var known bool
		if e, known, err = s.look(ctx, tx, c.Key); err != nil {
			return err
		}
		now := s.now()
		until := now.Add(c.Lease)
		switch {
		case !known:
			mine = true
			e = ledger.Entry{
				Key: c.Key, Fingerprint: c.Fingerprint, Receipt: c.Receipt, Owner: c.Owner, Claims: 1,
				Live: true, Claimed: now, Until: until,
			}
			return insert(ctx, tx, e, expires(now, c.Keeps))
		case e.Done:
			return nil
		case e.Owner == c.Owner:
		case !e.Live && c.TakeOver && e.Fingerprint == c.Fingerprint:
			e.Owner = c.Owner
			e.Claims++
		default:
			return nil
		}
		mine, e.Live, e.Until = true, true, until
		_, err := tx.ExecContext(ctx, "UPDATE junction_ledger SET owner = ?, claims = ?, until = ?, expires = ? WHERE key = ?",
			e.Owner, e.Claims, until.UnixMicro(), expires(now, c.Keeps), c.Key)
		return err
	})
	if err != nil {
		return ledger.Entry{}, false, err
	}
	return e, mine, nil
}

// Renew lengthens a lease.
func (s *Store) Renew(ctx context.Context, key, owner string, lease, keeps time.Duration) error {
	now := s.now()
	return s.own(ctx, "UPDATE junction_ledger SET until = ?, expires = ? WHERE key = ? AND owner = ? AND done IS NULL AND expires > ?",
		now.Add(lease).UnixMicro(), expires(now, keeps), key, owner, now.UnixMicro())
}

// Commit stores a result. A second time it finds it there.
func (s *Store) Commit(ctx context.Context, key, owner string, result []byte, keeps time.Duration) error {
	now := s.now()
	return s.own(ctx, `UPDATE junction_ledger SET
			result     = CASE WHEN done IS NULL THEN ? ELSE result END,
			expires    = CASE WHEN done IS NULL THEN ? ELSE expires END,
			done       = COALESCE(done, ?),
			executions = 1, until = 0
		WHERE key = ? AND owner = ? AND expires > ?`,
		string(result), expires(now, keeps), now.UnixMicro(), key, owner, now.UnixMicro())
}

// own runs a statement that changes the row of its owner.
func (s *Store) own(ctx context.Context, statement string, args ...any) error {
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return ledger.ErrClaimLost
	})
}

// Release frees a key, or leaves its claim without a lease.
func (s *Store) Release(ctx context.Context, key, owner string, unsure bool) error {
	statement := "DELETE FROM junction_ledger WHERE key = ? AND owner = ? AND done IS NULL"
	if unsure {
		statement = "UPDATE junction_ledger SET until = 0 WHERE key = ? AND owner = ? AND done IS NULL"
	}
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, key, owner)
		return err
	})
}

// Find returns what is known of a key.
func (s *Store) Find(ctx context.Context, key string) (ledger.Entry, error) {
	e, known, err := s.row(ctx, s.read, key)
	if err == nil && !known {
		err = ledger.ErrNotFound
	}
	return e, err
}

// Executions counts the committed executions of each key that is kept.
func (s *Store) Executions(ctx context.Context) (_ map[string]int, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT key, executions FROM junction_ledger WHERE executions > 0 AND expires > ?", s.now().UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("count executions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counts := make(map[string]int)
	for rows.Next() {
		var key string
		var n int
		if err := rows.Scan(&key, &n); err != nil {
			return nil, fmt.Errorf("count executions: %w", err)
		}
		counts[key] = n
	}
	return counts, rows.Err()
}

// look removes some of what has expired, and reads a key's row.
func (s *Store) look(ctx context.Context, tx *sql.Tx, key string) (e ledger.Entry, known bool, err error) {
	const remove = `DELETE FROM junction_ledger WHERE key = ? AND expires <= ?2
		OR rowid IN (SELECT rowid FROM junction_ledger WHERE expires <= ?2 ORDER BY expires LIMIT ?)`
	if _, err := tx.ExecContext(ctx, remove, key, s.now().UnixMicro(), sweep); err != nil {
		return e, false, err
	}
	return s.row(ctx, tx, key)
}

func (s *Store) row(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, key string) (e ledger.Entry, known bool, err error) {
	now := s.now()
	var result sql.NullString
	var done sql.NullInt64
	var claimed, until int64
	err = from.QueryRowContext(ctx, `SELECT key, fingerprint, receipt, owner, claims, executions, result, claimed, until, done
		FROM junction_ledger WHERE key = ? AND expires > ?`, key, now.UnixMicro()).
		Scan(&e.Key, &e.Fingerprint, &e.Receipt, &e.Owner, &e.Claims, &e.Executions, &result, &claimed, &until, &done)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Entry{}, false, nil
	}
	if err != nil {
		return ledger.Entry{}, false, err
	}
	e.Claimed = time.UnixMicro(claimed)
	if e.Done = done.Valid; e.Done {
		e.Committed, e.Result = time.UnixMicro(done.Int64), []byte(result.String)
	} else {
		e.Until, e.Live = time.UnixMicro(until), until > now.UnixMicro()
	}
	return e, true, nil
}

func insert(ctx context.Context, tx *sql.Tx, e ledger.Entry, expires int64) error {
	var result, done any
	var until int64
	if e.Done {
		result, done = string(e.Result), e.Committed.UnixMicro()
	} else {
		until = e.Until.UnixMicro()
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO junction_ledger
		(key, fingerprint, receipt, owner, claims, executions, result, claimed, until, done, expires)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Key, e.Fingerprint, e.Receipt, e.Owner, e.Claims, e.Executions, result, e.Claimed.UnixMicro(), until, done, expires)
	return err
}

// expires is when an entry that changed now is forgotten.
func expires(now time.Time, keeps time.Duration) int64 {
	if keeps == ledger.Forever {
		return math.MaxInt64
	}
	return now.Add(keeps).UnixMicro()
}
