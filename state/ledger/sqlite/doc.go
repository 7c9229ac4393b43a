// Package sqlite keeps a ledger in a SQLite file, and lets the effect be part of
// the transaction that makes its key known.
//
//	store, err := sqlite.Open(ctx, "orders.db", nil)
//	…
//	l, err := ledger.New(store, &ledger.Options{Place: ledger.Inside})
//	…
//	answer, err := sqlite.Do(ctx, l, call, func(ctx context.Context, tx *sql.Tx) (any, error) {
//		_, err := tx.ExecContext(ctx, "UPDATE stock SET left = left - 1 WHERE sku = ?", sku)
//		return map[string]any{"sku": sku}, err
//	})
//
// # Invariants
//
//  1. The claim of a key, its receipt, what the effect wrote in its transaction,
//     the count of executions and the result become durable in one commit, synced
//     to the disk, or not at all: also when the process is killed.
//  2. A transaction takes the file's write lock when it begins. Two connections
//     with one key therefore run one after the other, and the second finds the
//     result of the first.
//  3. An effect that takes long keeps everybody else who writes to the file
//     waiting, whatever their keys. One that asks another service does not belong
//     inside: see package ledger.
//
// The file is for processes of one machine: SQLite's locks are not to be trusted
// on a network's file system.
package sqlite
