// Package worker runs queued threads, many at once, and takes over those of
// workers that died. Any number of workers share a queue and a store; none of
// them leads.
//
// # Invariants
//
//  1. The lease decides who runs a thread, the queue only who tries. Two workers
//     that are given one thread cost a refused lease, never a second effect.
//  2. A thread that is to go on has an entry in the queue: the entry comes before
//     the thread ([Enqueue]) and goes after its end is recorded.
//  3. An entry that was moved since it was claimed is not taken out: the thread
//     was asked for again, and is looked at again.
//  4. Only pending and running threads are run, and interrupted ones somebody has
//     answered. A stopped thread waits for a person ([graph.Graph.Reopen]); a
//     cancellation that its holder died before heeding is carried out by whoever
//     takes the lease next, which tells of it ([state.Lease].Cancelled).
//  5. A worker costs the same however many threads wait: it holds a goroutine
//     for each thread it runs and none for others, extends all its turns in one
//     operation, and asks an idle queue about ten times a second at most.
//  6. A worker whose store is away asks with growing, jittered pauses. Its threads
//     go on for as long as their own leases do.
//
// # An entry's way
//
//	due ──claim──▶ in a turn ──the thread ended──▶ done, gone
//	 ▲                │  │
//	 │                │  └─every third of the turn─▶ extended
//	 │                ├─drained: due at once
//	 │                ├─held by another worker: due when its lease ends, in 1 s at most
//	 │                ├─not there yet: due in 1 s, gone after 30 s
//	 │                ├─this worker lacks what it needs: pending, due after a pause
//	 └────────────────┴─worker died, or left it: due when the turn is over
//
// Turn and lease have the same length, and both are extended every third of it,
// so a dead worker's thread is due, and its lease free, one length after its death
// at most. It goes before every thread that waits for its first turn, also when it was
// put off meanwhile, so only a worker with room for one more is waited for.
//
// # Orderings
//
// The thread is read after it was claimed, so that what was made before the
// entry became due is seen. The lease is taken after that, and the status read
// once more under it ([graph.RunOptions].Queued). An end is recorded by the run
// before the entry is taken out. While turns are being extended none of them is
// settled: an entry must not be moved between being read and being taken out.
//
// # Crash points
//
//	after claim        the turn runs out, another worker is given the thread.
//	while running      the same; the lease runs out, the run is taken over.
//	before done        the thread has ended; who is given it next takes it out.
//	between the steps of Enqueue: see there.
//
// # Ends that need a person
//
// A thread that vanished while it was held, and one whose store has gone back
// behind what it acknowledged, are taken out of the queue with an error in the
// log and an [EventGone]: nothing runs them again by itself. The latter is marked
// as failed, for the store may have brought back an older entry of it, and the
// next worker cannot tell what is missing. A person who has looked reopens it like
// any other failed thread; the mark needs no other way out. A thread that this
// worker cannot run at all (its graph does not fit, [RunFunc] panics) is recorded
// as failed, the former after a few tries, since another worker may have the
// version that fits.
package worker
