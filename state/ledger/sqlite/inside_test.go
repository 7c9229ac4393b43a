package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

// counted is a file with a counter, which effects raise.
type counted struct {
	*ledger.Ledger
	store *sqlite.Store
}

func openCounted(t *testing.T, path string, o ledger.Options, so *sqlite.Options) counted {
	t.Helper()
	s := open(t, path, so)
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS counter (n INTEGER); INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Place = ledger.Inside
	l, err := ledger.New(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	return counted{l, s}
}

func (c counted) count(t *testing.T) (n int) {
	t.Helper()
	if err := c.store.Reader().QueryRowContext(t.Context(), "SELECT n FROM counter").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func raise(ctx context.Context, tx *sql.Tx) (any, error) {
	var n int
	err := tx.QueryRowContext(ctx, "UPDATE counter SET n = n + 1 RETURNING n").Scan(&n)
	return map[string]int{"n": n}, err
}

func call(key string) ledger.Call { return ledger.Call{Key: key, Fingerprint: "f"} }

func TestAnEffectInsideIsUndoneWhenItFails(t *testing.T) {
	t.Parallel()
	c := openCounted(t, filepath.Join(t.TempDir(), "l.db"), ledger.Options{Limit: 20}, nil)
	failed := errors.New("failed")
	for name, effect := range map[string]func(context.Context, *sql.Tx) (any, error){
		"an error":                    func(context.Context, *sql.Tx) (any, error) { return nil, failed },
		"a result without a form":     func(context.Context, *sql.Tx) (any, error) { return func() {}, nil },
		"a result that is too large":  func(context.Context, *sql.Tx) (any, error) { return "twenty characters and more", nil },
		"an error that does not know": func(context.Context, *sql.Tx) (any, error) { return nil, ledger.ErrUnsure },
		"a panic":                     func(context.Context, *sql.Tx) (any, error) { panic("a fault") },
		"a call of the ledger from the inside": func(ctx context.Context, _ *sql.Tx) (any, error) {
			_, err := sqlite.Do(ctx, c.Ledger, call("another"), raise)
			if !errors.Is(err, ledger.ErrNested) {
				t.Errorf("%v, want nested", err)
			}
			return nil, err
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != nil && name != "a panic" {
					panic(p)
				}
			}()
			_, err := sqlite.Do(t.Context(), c.Ledger, call("k"), func(ctx context.Context, tx *sql.Tx) (any, error) {
				if _, err := raise(ctx, tx); err != nil {
					return nil, err
				}
				return effect(ctx, tx)
			})
			if err == nil || errors.Is(err, ledger.ErrUnknown) {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if _, err := c.Find(t.Context(), "k"); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s leaves the key closed: %v", name, err)
		}
		if n := c.count(t); n != 0 {
			t.Fatalf("%s leaves %d effects", name, n)
		}
	}
	if a, err := sqlite.Do(t.Context(), c.Ledger, call("k"), raise); err != nil || a.Replayed || c.count(t) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestARefusalInsideKeepsItsResultAndNothingElse(t *testing.T) {
	t.Parallel()
	c := openCounted(t, filepath.Join(t.TempDir(), "l.db"), ledger.Options{}, nil)
	for n := range 2 {
		a, err := sqlite.Do(t.Context(), c.Ledger, call("k"), func(ctx context.Context, tx *sql.Tx) (any, error) {
			if _, err := raise(ctx, tx); err != nil {
				return nil, err
			}
			return nil, &ledger.RefusedError{Result: "none left"}
		})
		if err != nil || string(a.Result) != `"none left"` || a.Replayed != (n > 0) {
			t.Errorf("answer %d: %+v, %v", n, a, err)
		}
	}
	if n := c.count(t); n != 0 {
		t.Errorf("%d effects", n)
	}
}

func TestAnEffectInsideMayUseAnotherLedger(t *testing.T) {
	t.Parallel()
	a := openCounted(t, filepath.Join(t.TempDir(), "a.db"), ledger.Options{}, nil)
	b := openCounted(t, filepath.Join(t.TempDir(), "b.db"), ledger.Options{}, nil)
	_, err := sqlite.Do(t.Context(), a.Ledger, call("k"), func(ctx context.Context, tx *sql.Tx) (any, error) {
		if _, err := sqlite.Do(ctx, b.Ledger, call("k"), raise); err != nil {
			return nil, err
		}
		return raise(ctx, tx)
	})
	if err != nil || a.count(t) != 1 || b.count(t) != 1 {
		t.Errorf("%v, %d and %d effects", err, a.count(t), b.count(t))
	}
}

func TestACallerThatLeavesAnEffectInsideLeavesNothingOrAllOfIt(t *testing.T) {
	t.Parallel()
	c := openCounted(t, filepath.Join(t.TempDir(), "l.db"), ledger.Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := sqlite.Do(ctx, c.Ledger, call("early"), func(ctx context.Context, tx *sql.Tx) (any, error) {
		cancel()
		return raise(ctx, tx)
	})
	if err == nil || c.count(t) != 0 {
		t.Errorf("left before the effect: %v, %d effects", err, c.count(t))
	}
	ctx, cancel = context.WithCancel(t.Context())
	_, err = sqlite.Do(ctx, c.Ledger, call("late"), func(ctx context.Context, tx *sql.Tx) (any, error) {
		defer cancel()
		return raise(ctx, tx)
	})
	if err != nil || c.count(t) != 1 {
		t.Errorf("left after the effect: %v, %d effects", err, c.count(t))
	}
}

func TestAFileHeldByAnotherConnectionIsInProgress(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	a := openCounted(t, path, ledger.Options{}, nil)
	b := openCounted(t, path, ledger.Options{}, &sqlite.Options{Busy: 30 * time.Millisecond})
	_, err := sqlite.Do(t.Context(), a.Ledger, call("k"), func(ctx context.Context, tx *sql.Tx) (any, error) {
		for _, key := range []string{"k", "another"} {
			_, err := sqlite.Do(t.Context(), b.Ledger, call(key), raise)
			if !errors.Is(err, ledger.ErrInProgress) || !errors.Is(err, ledger.ErrBusy) {
				t.Errorf("key %s: %v", key, err)
			}
		}
		return raise(ctx, tx)
	})
	if err != nil || a.count(t) != 1 {
		t.Errorf("%v, %d effects", err, a.count(t))
	}
}

func TestAKeyClaimedForAnEffectElsewhereIsNotRunInside(t *testing.T) {
	t.Parallel()
	c := openCounted(t, filepath.Join(t.TempDir(), "l.db"), ledger.Options{}, nil)
	claim := ledger.Claim{Key: "k", Fingerprint: "f", Owner: "o", Receipt: "r", Lease: time.Minute, Keeps: time.Hour}
	if _, mine, err := c.store.Claim(t.Context(), claim); err != nil || !mine {
		t.Fatal(mine, err)
	}
	if _, err := sqlite.Do(t.Context(), c.Ledger, call("k"), raise); !errors.Is(err, ledger.ErrInProgress) {
		t.Errorf("claimed: %v", err)
	}
	if err := c.store.Release(t.Context(), "k", "o", true); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Do(t.Context(), c.Ledger, call("k"), raise); !errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("left: %v", err)
	}
	if n := c.count(t); n != 0 {
		t.Errorf("%d effects", n)
	}
}

func TestEntriesAreForgottenByTheStoresClockAndRemovedAlongTheWay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	later := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	c := openCounted(t, filepath.Join(t.TempDir(), "l.db"), ledger.Options{Keeps: 24 * time.Hour}, &sqlite.Options{Now: clock})
	do := func(key string) ledger.Answer {
		t.Helper()
		a, err := sqlite.Do(t.Context(), c.Ledger, call(key), raise)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for i := range 40 {
		do(string(rune('A' + i)))
	}
	later(24*time.Hour - time.Second)
	if a := do("A"); !a.Replayed {
		t.Error("a key was forgotten too early")
	}
	later(time.Second)
	if a := do("A"); a.Replayed {
		t.Error("a key was kept too long")
	}
	for range 2 {
		do("B")
	}
	do("C")
	var rows int
	if err := c.store.Reader().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM junction_ledger").Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows are left, %v; want 3", rows, err)
	}
	counts, err := c.store.Executions(t.Context())
	if err != nil || len(counts) != 3 || counts["A"] != 1 {
		t.Errorf("executions %v, %v", counts, err)
	}
}
