// Package redis keeps a ledger in Redis 7 or later, shared by every server that
// uses the same prefix.
//
//	store := redis.New(goredis.NewClient(&goredis.Options{Addr: addr}), "orders")
//	l, err := ledger.New(store, &ledger.Options{Place: ledger.Idempotent})
//
// # Invariants
//
//  1. Each operation is one script on one key, PREFIX:{HASH OF THE KEY}, so it
//     works on a cluster. Time is the server's.
//  2. Each may run twice: a client may send it again when the reply was lost.
//  3. An entry is removed by its time to live: how long keys are kept, counted from
//     its last change.
//
// # What cannot be atomic
//
// An effect is never part of a script, so between the effect and its commit the
// process can die. Package ledger says what becomes of the key.
//
// Redis itself forgets: what it acknowledged after its last sync to disk when the
// machine fails (run it with appendonly yes and appendfsync always, or accept a
// second), and what a master had not yet sent to the replica that replaces it. A
// forgotten key is free and runs again. Where that costs more than a fsync for
// each call, use SQLite or a database of your own. Eviction forgets as well:
// maxmemory-policy must be noeviction.
package redis
