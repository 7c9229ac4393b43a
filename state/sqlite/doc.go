// Package sqlite keeps threads in one SQLite file: the embedded default.
//
// Several processes of one machine may share the file. It must not lie on a
// network file system: SQLite's locks and the liveness of a lease's owner mean
// nothing there.
//
// # Invariants
//
//   - One connection of a process writes, from one goroutine. It gathers what
//     concurrent callers want written into one BEGIN IMMEDIATE transaction, each
//     caller behind a savepoint of its own: one caller's lost lease undoes
//     nothing of another's. A caller hears of success after the COMMIT, with
//     synchronous=FULL, has returned. A pool of read-only connections reads.
//   - A commit is one row: the items it appends, the references as they stand
//     after it, and the last values it sets. Its key is made of the thread and
//     the sequence number, so no index repeats it. Nothing is rewritten; a
//     thread of n supersteps takes O(n) bytes.
//   - Leases live on the machine's wall clock, read inside the transaction that
//     asks. A clock that steps back cannot prolong a lease by more than its time
//     to live: whoever asks next starts the lease's time anew. Tokens come from
//     one sequence of the file, so that of a deleted thread never comes back.
//   - A lease holds its owner's process: pid, start time, boot id and pid
//     namespace. Where those show that the process is gone, its lease is free at
//     once. A process of another boot or namespace cannot be judged (the file may
//     be shared between containers): there, time alone frees the lease.
//   - A file that is not ours, is damaged, or was written by a newer version is
//     refused before anything is written to it.
package sqlite
