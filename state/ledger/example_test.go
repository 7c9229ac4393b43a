package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"free":2} replayed: false
	// {"free":2} replayed: true
	// refused: true
}

func example(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ledger-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "stock.db"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	err = store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE stock (sku TEXT, free INTEGER); INSERT INTO stock VALUES ('bolt', 3)")
		return err
	})
	if err != nil {
		return err
	}
	l, err := ledger.New(store, &ledger.Options{Place: ledger.Inside})
	if err != nil {
		return err
	}
	reserve := func(key, sku string) (ledger.Answer, error) {
		fingerprint, err := ledger.Fingerprint("reserve", map[string]any{"sku": sku})
		if err != nil {
			return ledger.Answer{}, err
		}
		call := ledger.Call{Key: key, Fingerprint: fingerprint}
		return sqlite.Do(ctx, l, call, func(ctx context.Context, tx *sql.Tx) (any, error) {
			var free int
			row := tx.QueryRowContext(ctx, "UPDATE stock SET free = free - 1 WHERE sku = ? RETURNING free", sku)
			err := row.Scan(&free)
			return map[string]int{"free": free}, err
		})
	}
	for range 2 {
		a, err := reserve("order 17", "bolt")
		if err != nil {
			return err
		}
		fmt.Printf("%s replayed: %v\n", a.Result, a.Replayed)
	}
	_, err = reserve("order 17", "nut")
	fmt.Println("refused:", errors.Is(err, ledger.ErrMismatch))
	return nil
}
