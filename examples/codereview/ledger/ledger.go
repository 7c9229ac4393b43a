// Package ledger publishes texts exactly once for each idempotency key: the claim of
// a key, the published text, the receipt and the count of executions are one
// transaction of a SQLite file (junction/state/ledger). So a key that is seen again,
// by this process or another on the same file, after a crash or not, gets the
// receipt of the one execution there was, and the count can be asked for as proof.
package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

var (
	// ErrConflict is returned when a key comes again with other arguments.
	ErrConflict = ledger.ErrMismatch
	// ErrInProgress is returned when another call with the key was still under
	// way as the caller's patience ended. It says nothing of that call's outcome.
	ErrInProgress = ledger.ErrInProgress
)

// Publication is what is published.
type Publication struct {
	Text string `json:"text"`
	Path string `json:"path,omitempty"` // file to write; "": only the ledger keeps the text
}

// Receipt is the outcome of an execution, the same each time it is asked for.
type Receipt struct {
	ID     int64  `json:"receipt"` // number of the publication in this ledger, from 1
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
	Path   string `json:"path"`
}

// Ledger is an open ledger. It is safe for concurrent use, and several
// processes may share its file.
type Ledger struct {
	store  *sqlite.Store
	ledger *ledger.Ledger
}

const schema = `
CREATE TABLE IF NOT EXISTS text (
	id   INTEGER PRIMARY KEY,
	key  TEXT NOT NULL UNIQUE,
	text TEXT NOT NULL
) STRICT`

// patience is how long a call waits for another one with its key, unless its
// context ends before: so that a caller who has lost an answer gets that answer.
const patience = 24 * time.Hour

// Open opens the ledger in a file, which is made when it does not exist.
func Open(ctx context.Context, path string) (*Ledger, error) {
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: store}
	if l.ledger, err = ledger.New(store, &ledger.Options{Place: ledger.Inside, Keeps: ledger.Forever, Wait: patience}); err == nil {
		err = store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, schema)
			return err
		})
	}
	if err == nil {
		err = l.adopt(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), store.Close())
	}
	return l, nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.store.Close() }

// Publish executes a publication under a key, or returns the receipt of the
// execution there was. While another call with the key is under way it waits for
// it. A file is written before the transaction commits, whole or not at all: a
// crash between the two leaves the file without its entry, and the next call with
// the key writes the same bytes again.
func (l *Ledger) Publish(ctx context.Context, key string, p Publication) (Receipt, error) {
	var r Receipt
	a, err := sqlite.Do(ctx, l.ledger, ledger.Call{Key: key, Fingerprint: p.fingerprint()},
		func(ctx context.Context, tx *sql.Tx) (any, error) { return publish(ctx, tx, key, p) })
	if err == nil {
		err = a.Decode(&r)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	return r, nil
}

func publish(ctx context.Context, tx *sql.Tx, key string, p Publication) (Receipt, error) {
	sum := sha256.Sum256([]byte(p.Text))
	r := Receipt{SHA256: hex.EncodeToString(sum[:]), Bytes: len(p.Text), Path: p.Path}
	err := tx.QueryRowContext(ctx, "INSERT INTO text (id, key, text) SELECT COALESCE(MAX(id), 0) + 1, ?, ? FROM text RETURNING id", key, p.Text).Scan(&r.ID)
	if err != nil {
		return Receipt{}, err
	}
	return r, p.write()
}

// Check says why the ledger cannot be read. It changes nothing.
func (l *Ledger) Check(ctx context.Context) error {
	var n int
	if err := l.store.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM text LIMIT 1)").Scan(&n); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return nil
}

// Executions tells how often each key was executed, which is once, and all
// keys together.
func (l *Ledger) Executions(ctx context.Context) (Executions, error) {
	keys, err := l.store.Executions(ctx)
	e := Executions{Keys: keys}
	for _, n := range keys {
		e.Total += n
	}
	return e, err
}

// Executions counts publications.
type Executions struct {
	Total int            `json:"total"`
	Keys  map[string]int `json:"keys"`
}

func (p Publication) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d\n%s%s", len(p.Path), len(p.Text), p.Path, p.Text)
	return hex.EncodeToString(h.Sum(nil))
}

// write writes the file through a temporary one beside it.
func (p Publication) write() error {
	if p.Path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.Path), ".report-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.Text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil { // for others to read, as a redirection would make it
		err = os.Rename(f.Name(), p.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
