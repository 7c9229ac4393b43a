// Package ledger publishes texts exactly once for each idempotency key.
//
// Invariant: the claim of a key, the fingerprint of what it stands for, the
// published text, the receipt and the count of executions become durable in one
// SQLite transaction. So a key that is seen again, by this process or another
// on the same file, after a crash or not, gets the receipt of the one execution
// there was, and the count can be asked for as proof.
package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver
)

var (
	// ErrConflict is returned when a key comes again with other arguments.
	ErrConflict = errors.New("idempotency conflict: this key was used with other arguments; use a key of its own for each publication")
	// ErrInProgress is returned when another call with the key was still under
	// way as the caller's patience ended. It says nothing of that call's outcome.
	ErrInProgress = errors.New("in progress: a call with this key is under way; wait and ask again with the same key")
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
	db *sql.DB

	mu   sync.Mutex
	open map[string]chan struct{} // by key being executed by this process: closed at its end
}

const schema = `
CREATE TABLE IF NOT EXISTS publication (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         TEXT NOT NULL UNIQUE,
	fingerprint TEXT NOT NULL,
	text        TEXT NOT NULL,
	receipt     TEXT NOT NULL,
	executions  INTEGER NOT NULL
) STRICT`

// Open opens the ledger in a file, which is made when it does not exist.
func Open(ctx context.Context, path string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	// A transaction that begins deferred and then writes fails at once when
	// another process holds the file, whatever busy_timeout says.
	options := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"},
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows drive
	}
	// As a URL, since a path may hold #, ? and %.
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", path, err), db.Close())
	}
	return &Ledger{db: db, open: make(map[string]chan struct{})}, nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.db.Close() }

// Publish executes a publication under a key, or returns the receipt of the
// execution there was. While another call with the key is under way it waits for
// it, so that a caller who has lost an answer gets that answer. A file is written before the transaction commits, whole
// or not at all: a crash between the two leaves the file without its entry, and
// the next call with the key writes the same bytes again.
func (l *Ledger) Publish(ctx context.Context, key string, p Publication) (Receipt, error) {
	if key == "" {
		return Receipt{}, errors.New("no idempotency key: publish only with one")
	}
	free, err := l.claim(ctx, key)
	if err != nil {
		return Receipt{}, fmt.Errorf("key %q: %w", key, err)
	}
	defer free()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	receipt, err := publish(ctx, tx, key, p)
	if err != nil {
		if rerr := tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = errors.Join(err, rerr)
		}
		return Receipt{}, err
	}
	if err := tx.Commit(); err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	return receipt, nil
}

func publish(ctx context.Context, tx *sql.Tx, key string, p Publication) (Receipt, error) {
	var fingerprint, stored string
	err := tx.QueryRowContext(ctx, "SELECT fingerprint, receipt FROM publication WHERE key = ?", key).Scan(&fingerprint, &stored)
	switch {
	case err == nil && fingerprint != p.fingerprint():
		return Receipt{}, fmt.Errorf("key %q: %w", key, ErrConflict)
	case err == nil:
		var r Receipt
		if err := json.Unmarshal([]byte(stored), &r); err != nil {
			return Receipt{}, fmt.Errorf("publish: receipt of key %q: %w", key, err)
		}
		return r, nil
	case !errors.Is(err, sql.ErrNoRows):
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	sum := sha256.Sum256([]byte(p.Text))
	r := Receipt{SHA256: hex.EncodeToString(sum[:]), Bytes: len(p.Text), Path: p.Path}
	row := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) + 1 FROM publication")
	if err := row.Scan(&r.ID); err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	receipt, err := json.Marshal(r)
	if err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	const insert = "INSERT INTO publication (id, key, fingerprint, text, receipt, executions) VALUES (?, ?, ?, ?, ?, 1)"
	if _, err := tx.ExecContext(ctx, insert, r.ID, key, p.fingerprint(), p.Text, string(receipt)); err != nil {
		return Receipt{}, fmt.Errorf("publish: %w", err)
	}
	return r, p.write()
}

// claim waits until no other call of this process executes the key.
func (l *Ledger) claim(ctx context.Context, key string) (free func(), err error) {
	for {
		l.mu.Lock()
		busy, taken := l.open[key]
		if !taken {
			done := make(chan struct{})
			l.open[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.open, key)
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, errors.Join(ErrInProgress, ctx.Err())
		}
	}
}

// Check says why the ledger cannot be read. It changes nothing.
func (l *Ledger) Check(ctx context.Context) error {
	var n int
	if err := l.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM publication LIMIT 1)").Scan(&n); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return nil
}

// Executions tells how often each key was executed, which is once, and all
// keys together.
func (l *Ledger) Executions(ctx context.Context) (_ Executions, err error) {
	e := Executions{Keys: make(map[string]int)}
	rows, err := l.db.QueryContext(ctx, "SELECT key, executions FROM publication")
	if err != nil {
		return e, fmt.Errorf("count executions: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key string
		var n int
		if err := rows.Scan(&key, &n); err != nil {
			return e, fmt.Errorf("count executions: %w", err)
		}
		e.Keys[key] = n
		e.Total += n
	}
	return e, rows.Err()
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
		return fmt.Errorf("publish: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(p.Path), ".report-*")
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	_, err = f.WriteString(p.Text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil { // for others to read, as a redirection would make it
		err = os.Rename(f.Name(), p.Path)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
