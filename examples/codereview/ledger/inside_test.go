package ledger

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

func TestACallersPatienceEndsWithInProgress(t *testing.T) {
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	failed := errors.New("failed")
	_, err = sqlite.Do(t.Context(), l.ledger, ledger.Call{Key: "k"}, func(context.Context, *sql.Tx) (any, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Publish(ctx, "k", Publication{Text: "a"}); !errors.Is(err, ErrInProgress) {
			t.Errorf("%v, want in progress", err)
		}
		return nil, failed
	})
	if !errors.Is(err, failed) {
		t.Error(err)
	}
	if r, err := l.Publish(t.Context(), "k", Publication{Text: "a"}); err != nil || r.ID != 1 {
		t.Errorf("receipt %+v, %v", r, err)
	}
}

func TestTheKeysOfEarlierVersionsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	store, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Publication{Text: "a"}
	err = store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE publication (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
				fingerprint TEXT NOT NULL, text TEXT NOT NULL, receipt TEXT NOT NULL, executions INTEGER NOT NULL) STRICT;
			INSERT INTO publication VALUES (7, 'k', ?, 'a', '{"receipt":7,"sha256":"x","bytes":1,"path":""}', 1)`, p.fingerprint())
		return err
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to take over
		l, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := l.Publish(t.Context(), "k", p); err != nil || r != (Receipt{ID: 7, SHA256: "x", Bytes: 1}) {
			t.Errorf("receipt %+v, %v", r, err)
		}
		if _, err := l.Publish(t.Context(), "k", Publication{Text: "b"}); !errors.Is(err, ErrConflict) {
			t.Errorf("another text: %v", err)
		}
		if r, err := l.Publish(t.Context(), "new", p); err != nil || r.ID != 8 {
			t.Errorf("receipt %+v, %v", r, err)
		}
		if e, err := l.Executions(t.Context()); err != nil || e.Total != 2 {
			t.Errorf("%+v, %v", e, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
