// Package ledger makes a tool execute each idempotency key once. It is for authors
// of MCP servers, and stands on a [Store]: a SQLite file (package sqlite beside
// this one) or Redis (package redis). Package mcptool wraps a tool's handler.
//
//	store, err := sqlite.Open(ctx, "stock.db", nil)
//	…
//	l, err := ledger.New(store, &ledger.Options{Place: ledger.Inside})
//	…
//	fingerprint, err := ledger.Fingerprint("reserve", arguments, "idempotencyKey")
//	…
//	answer, err := sqlite.Do(ctx, l, ledger.Call{Key: key, Fingerprint: fingerprint},
//		func(ctx context.Context, tx *sql.Tx) (any, error) {
//			_, err := tx.ExecContext(ctx, "UPDATE stock SET free = free - 1 WHERE sku = ?", "a")
//			return map[string]any{"reserved": 1}, err
//		})
//
// # What a key is answered
//
//   - It is new: the effect runs, and its result is stored and returned.
//   - It is known with this fingerprint: the stored result, each time a fresh copy.
//   - It is known with another: [ErrMismatch]; nothing is done.
//   - It is under way: [ErrInProgress], after Options.Wait. Ask again with the key.
//   - Its owner died, or did not know what it had done: [ErrUnknown], unless the
//     effect is one that may run again, or the author's hook finds out.
//
// # Invariants
//
//  1. The claim of a key, the fingerprint, the receipt, the count of executions and
//     the result are one entry, and each change of it is one atomic operation of
//     the store, which decides who came first by its own clock.
//  2. A result is committed once and never replaced.
//  3. An effect that failed leaves nothing, where that it failed is certain: the key
//     is free, for other arguments too. Where it is not certain, the key is closed.
//  4. What is kept is the arguments' fingerprint and never the arguments, and of the
//     result only what Options.Secrets and Options.Strip leave. A fingerprint of
//     arguments that can be guessed, such as a card's number, can be guessed too:
//     leave such members out of it.
//
// # Where the effect lives
//
// [Inside]: the effect is what it writes in the store's own transaction. Effect,
// claim, receipt, count and result become durable together or not at all, so a
// process that is killed leaves the key either free or committed. This is the only
// place where once means once without anybody's help.
//
// [Idempotent]: the effect is at another service, which itself does one thing once
// under a key that it is given: Run.Receipt, which stays the same. The claim is
// durable before the effect begins. An owner that dies leaves a claim that
// another one takes over once its lease has ended, and the other service, asked
// twice, does it once. The promise is as good as the other service's memory.
//
// [Elsewhere]: the effect is at another service, which knows no keys. Nothing can
// make the two one: between the effect and its commit the process may die, and
// then nobody knows. Such a key is never run again by a guess. Options.Reconcile
// may look whether the effect is there, by Run.Receipt if that was passed on as a
// reference; else a person looks, and the author's tool calls [Ledger.Settle].
//
// Between Inside and Elsewhere stands an outbox: the effect writes the wish into a
// table Inside, and a worker carries it out with the receipt as key. The key is
// then answered with the wish and not with what became of it.
package ledger
