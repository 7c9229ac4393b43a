// Package redis is the backend of a fleet: a [state.Store] and [state.Queue] in
// Redis 7 or later, standalone, behind Sentinel or as a Cluster, without modules.
//
// # Invariants
//
//  1. Every change of a thread is one script, which nothing interrupts. It reads
//     all it needs and checks the lease (token, owner's time) before it writes
//     anything.
//  2. Time is the server's, in Unix µs. A lease that has run out is nobody's,
//     also when nobody took it; a clock that steps back prolongs one by its own
//     length at most, once somebody asks for it.
//  3. A fencing token is max(the thread's last + 1, the time in µs, the thread's
//     creation + 1): it rises with each acquisition and is used once, also when
//     the thread is deleted and made again, or when a failover lost the newest
//     acquisition.
//  4. Every script may run twice: a reply can be lost after its script ran. What
//     is not idempotent by nature carries a nonce that is kept with its effect,
//     and the same nonce gets the same reply.
//  5. A token or a head behind the one a worker was given is no ordinary loss of
//     a lease: the store has gone back ([state.ErrRegressed]). A store remembers
//     what was acknowledged under each lease, so the first operation tells.
//  6. Each key expires: a completed thread's after Retention.Completed, any
//     other's after Retention.Stopped, counted from its last change or from the
//     end of its lease. All keys of a thread have one deadline: it moves for all
//     or for none, when it is off by an hour or an eighth.
//  7. A commit that follows a head this process has seen is one round trip; it
//     names that head by number and time, and the script compares both.
//
// # Keys
//
// P is the prefix ("junction" unless the address says otherwise), T stands for
// P:{ID}, ID with "%", "{" and "}" percent-encoded. All keys of a thread share
// one hash tag, so a thread lies on one node of a cluster and its scripts need no
// other.
//
//	T:t  hash    the thread, its lease and its place: 800 bytes, 2 KiB when a field (Meta, a failure) is longer than 64 bytes
//	T:c  list    checkpoint heads, oldest first: Seq, time, references, the rest as JSON, without values; 100 bytes and 10 per channel a superstep
//	T:l  list    frames of items added to append channels, one element per checkpoint ("" where it added none): the payload and a few bytes
//	T:v  hash    Seq → frame of the last-value channels set there: the payload and 50 bytes; "0" → "", which keeps the key
//	T:u  hash    the superstep under way: w:TASK writes, i:ID a question, a:ID its answer, r:FIELD a result; deleted by its commit
//	T:r  hash    Seq:Hop:Round:Attempt → call record: 500 to 900 bytes each
//	T:b  hash    SHA-256 → large value, once for the thread, compressed above 512 KiB
//	T:s  hash    session id → session: 500 bytes each
//
//	P:threads    sorted set of thread ids by creation, µs, 135 bytes each; an entry comes before its thread and goes after it
//	P:{queue}:due    sorted set of queued thread ids that nobody has begun, by the time they are due, µs
//	P:{queue}:begun  sorted set of the thread ids that workers were given, by the end of their turn or pause, µs
//	P:{queue}:bell  list that idle workers block on: one element wakes one worker
//	P:{queue}:reply:N  list, a reply that one call gets again when it was lost; for less than a minute by default
//	P:{fleet}:alive  sorted set of workers by when their shares are over, µs, 60 bytes each; gone within seconds of the last one
//	P:{fleet}:shares  hash worker → when stored, µs, and its shares: 40 bytes a server in use, 256 at most
//	P:{health:SERVER}:N  hash of how a server fared in the Nth ten minutes since 1970: minute, capability and worker → sample as JSON, 250 bytes each, 5,000 at most; for 25 h 10 min after its last change
//	P:{health}:servers   sorted set of the servers that have such a hash, by when it was last written, ms; 10,000 at most
//	P:cancel     publish/subscribe channel: ids of threads that were asked to stop
//
// The fields of T:t: status, failure, head (its Seq), at (when it was committed,
// µs), step, write_id (of the head's commit), cancel (1: asked to stop; 2: cleared by
// an acquisition, and no status recorded since), waiting (questions without
// an answer), created, updated; token, until (µs; 0: free), ttl (µs), owner, taken
// (nonce of the acquisition); made (nonce of the creation), nonces (of the newest
// 16 calls that answered); exp (the deadline of all keys, µs), last (when the
// newest record started, µs), base and lbase (Seq of the first element of T:c and
// of T:l); workflow, version, definition, lineage, meta.
//
// Options.Keep trims T:c from its beginning, T:v of what only trimmed checkpoints
// refer to, and T:l up to the oldest generation of a log that is still referred
// to. Large values stay until the thread goes.
//
// # Crash points
//
// A thread is made by two operations (index, then thread) and deleted by two
// (thread, then index): a crash between them leaves an index entry without a
// thread, which lists skip and [Store.Prune] removes once it is older than a
// creation may take. Whoever makes a thread where such an entry stands moves it
// first, and whoever removes one removes it only as it was read. A queue entry is made before what it announces and removed
// after its thread has ended, so a crash leaves an entry with nothing to do,
// never a thread without its entry.
//
// # What a failover can lose
//
// Redis replicates after it has acknowledged. A failover, or a restart whose
// append-only file lacks its last second (appendfsync everysec), loses the
// newest commits: the thread then stands at an earlier checkpoint, and a hop
// whose intent was lost can be made again. A worker that still holds the thread
// notices (invariant 5) and marks it as failed. A master that is cut off takes the
// commits and intents of the workers on its side until it learns of its successor:
// both sides then run the thread. min-replicas-to-write 1 with
// min-replicas-max-lag 1, and appendfsync always, narrow the gap; they do not close
// it. In a cluster a thread and its entry in the queue lie on different masters: a
// failover that loses a thread's end after its entry was taken out leaves it
// running with no worker, until somebody resumes it. A successor whose clock is
// behind hands out queued threads later by the difference: keep clocks together.
package redis
