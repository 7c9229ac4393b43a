package ledger_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"junction/state/ledger"
	"junction/state/ledger/redis"
	"junction/state/ledger/sqlite"
	"junction/state/redis/redistest"
)

func openRedis(t *testing.T, addr, prefix string) ledger.Store {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return redis.New(c, prefix)
}

func newLedger(t *testing.T, s ledger.Store, o ledger.Options) *ledger.Ledger {
	t.Helper()
	o.Wait = 20 * time.Second
	l, err := ledger.New(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// released lets eight goroutines, half of them on each of two ledgers, go at once.
func released(do func(which int)) {
	var calls sync.WaitGroup
	barrier := make(chan struct{})
	for i := range 8 {
		calls.Go(func() {
			<-barrier
			do(i % 2)
		})
	}
	close(barrier)
	calls.Wait()
}

func TestSameKeyAndArgumentsRunOnceUnderATwoConnectionRace(t *testing.T) {
	t.Parallel()
	call := ledger.Call{Key: "k", Fingerprint: "f"}
	t.Run("inside a file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "l.db")
		a, b := openFile(t, path), openFile(t, path)
		err := a.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "CREATE TABLE run (n INTEGER)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		ledgers := []*ledger.Ledger{newLedger(t, a, ledger.Options{Place: ledger.Inside}), newLedger(t, b, ledger.Options{Place: ledger.Inside})}
		var fresh atomic.Int32
		released(func(which int) {
			got, err := sqlite.Do(t.Context(), ledgers[which], call, func(ctx context.Context, tx *sql.Tx) (any, error) {
				_, err := tx.ExecContext(ctx, "INSERT INTO run VALUES (1)")
				return "done", err
			})
			if err != nil || string(got.Result) != `"done"` || got.Executions != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if !got.Replayed {
				fresh.Add(1)
			}
		})
		var runs int
		if err := b.Reader().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM run").Scan(&runs); err != nil || runs != 1 || fresh.Load() != 1 {
			t.Errorf("%d runs, %d fresh answers, %v", runs, fresh.Load(), err)
		}
	})
	t.Run("in Redis", func(t *testing.T) {
		t.Parallel()
		server, prefix := redistest.Shared(t), uuid.NewString()
		ledgers := []*ledger.Ledger{
			newLedger(t, openRedis(t, server.Addr(), prefix), ledger.Options{}), newLedger(t, openRedis(t, server.Addr(), prefix), ledger.Options{}),
		}
		var runs, fresh atomic.Int32
		released(func(which int) {
			got, err := ledgers[which].Do(t.Context(), call, func(context.Context, ledger.Run) (any, error) {
				runs.Add(1)
				return "done", nil
			})
			if err != nil || string(got.Result) != `"done"` || got.Executions != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if !got.Replayed {
				fresh.Add(1)
			}
		})
		if runs.Load() != 1 || fresh.Load() != 1 {
			t.Errorf("%d runs, %d fresh answers", runs.Load(), fresh.Load())
		}
	})
}

func TestTheRecordSurvivesReopeningAndReplaysGiveCopies(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "l.db")
	server := redistest.Start(t, "appendonly", "yes", "appendfsync", "always")
	for name, c := range map[string]struct {
		open   func(t *testing.T) ledger.Store
		reopen func()
	}{
		"a file, closed and opened": {func(t *testing.T) ledger.Store { return openFile(t, file) }, func() {}},
		"a Redis that is killed": {
			func(t *testing.T) ledger.Store { return openRedis(t, server.Addr(), "") },
			func() { server.Kill(); server.Restart() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := ledger.Call{Key: "k", Fingerprint: "f"}
			var first ledger.Answer
			t.Run("before", func(t *testing.T) { // the store is closed at its end
				var err error
				first, err = newLedger(t, c.open(t), ledger.Options{}).Do(t.Context(), call, func(context.Context, ledger.Run) (any, error) {
					return map[string]any{"reserved": 2}, nil
				})
				if err != nil || first.Replayed {
					t.Fatalf("%+v, %v", first, err)
				}
			})
			c.reopen()
			l := newLedger(t, c.open(t), ledger.Options{})
			var last ledger.Answer
			for range 3 {
				got, err := l.Do(t.Context(), call, func(context.Context, ledger.Run) (any, error) {
					t.Error("it ran a second time")
					return nil, nil
				})
				if err != nil || !got.Replayed || string(got.Result) != string(first.Result) || got.Receipt != first.Receipt || got.Executions != 1 {
					t.Errorf("%+v, %v; want %+v", got, err, first)
				}
				if last.Result != nil && &last.Result[0] == &got.Result[0] {
					t.Error("two replays share their memory")
				}
				last = got
			}
		})
	}
}

func TestChangingAReturnedResultChangesNothingStored(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]ledger.Store{
		"a file": openFile(t, filepath.Join(t.TempDir(), "l.db")),
		"Redis":  openRedis(t, redistest.Shared(t).Addr(), uuid.NewString()),
	} {
		l := newLedger(t, s, ledger.Options{})
		list := []string{"a", "b"} // the effect keeps what it returned, and changes it
		do := func() ledger.Answer {
			t.Helper()
			a, err := l.Do(t.Context(), ledger.Call{Key: "k", Fingerprint: "f"}, func(context.Context, ledger.Run) (any, error) { return list, nil })
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		for n := range 3 {
			a := do()
			if string(a.Result) != `["a","b"]` {
				t.Fatalf("%s: answer %d is %s", name, n, a.Result)
			}
			list[0] = "changed"
			for i := range a.Result {
				a.Result[i] = '!'
			}
		}
		if e, err := l.Find(t.Context(), "k"); err != nil || string(e.Result) != `["a","b"]` {
			t.Errorf("%s: stored is %s, %v", name, e.Result, err)
		}
	}
}
