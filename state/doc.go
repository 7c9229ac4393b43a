// Package state is the only thing in Junction that remembers. It defines what
// a durable run (a thread) consists of, the interface every backend satisfies,
// and the journal through which a task's hops are recorded.
//
// # Invariants
//
//  1. Atomic commit. The writes of a superstep, its checkpoint and the tasks
//     that run next become visible together, in one [CheckpointStore.Commit],
//     which checks the lease's fencing token and the parent checkpoint.
//  2. Fencing. Every operation that takes a [Lease] fails with [ErrLeaseLost]
//     once another acquisition of the thread's lease has happened, or once the
//     lease has run out on the store's own clock. Nothing is changed then, unless
//     by an earlier try of the same call, made in time, whose reply was lost.
//  3. Siblings survive. [CheckpointStore.PutWrites] makes one finished task's
//     writes durable at once; the first write of a task wins and a repeated one
//     is harmless.
//  4. Journal before effect. A conditional or unsafe hop's intent is durable
//     ([Hop.Intent]) before its request leaves, its outcome ([Hop.Outcome])
//     at once after. A safe hop's records wait in memory until the next store
//     operation of its task and ride in it.
//  5. Growth is linear. A checkpoint holds, for each channel, only where its
//     value lies: a last-value channel by the sequence number at which it was
//     last written, an append channel by its length. Nothing is rewritten.
//  6. Nothing is aliased. What goes in is copied or serialised before the call
//     returns; what comes out belongs to the caller.
//
// # Crash points
//
// A process may die between any two of: intent, request, answer, outcome,
// writes, commit, status. After each of them the thread can be resumed: a hop
// with a durable result is replayed, a hop with a durable intent and no outcome
// has an unknown outcome (see [Hop.Prior]), a task with durable writes is not
// run again, and a superstep whose tasks all have durable writes is committed
// without running any.
package state
