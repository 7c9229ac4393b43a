// Package router takes a request for a capability to a server that can do it:
// candidates, a seeded draw, attempts, each of them recorded.
//
//	r := router.New(discovery, caller, nil)
//	defer r.Close()
//	answer, err := r.Do(ctx, state.Call{
//		Capability: "code-review",
//		Need:       map[string]any{"language": "rust"},
//		With:       map[string]any{"code": code, "language": "rust"},
//	})
//
// # From a call to an answer
//
// [Router.Do] opens a hop in the journal that ctx carries and returns a result
// that is recorded there already. Otherwise:
//
//  1. Discovery. The servers of the [Snapshot] are described, all at once; one
//     that hangs is left out after a grace. Offers are matched with the call's
//     needs, and each server that does not fit is a [Rejection] with its reason.
//     When nobody fits, discovery looks again before that is said.
//  2. Decision. Health rates the candidates by each other, a [Transform] makes
//     weights of it, and a draw from a recorded seed picks one ([Decision],
//     [ReplayPick]).
//  3. Attempt. The arguments are mapped and checked, the intent is made durable
//     where the effect asks for it, the request leaves, the outcome is recorded.
//  4. After a failure the table in table.go ([RetryTable]) says what follows, from
//     the code, from whether the attempt executed, and from the effect: another
//     server, the same one later, one that shares the ledger, a person, or nobody.
//
// # Invariants
//
//  1. Nothing is sent for a conditional or unsafe hop before its intent is
//     durable, and nothing at all once the worker's lease may have run out.
//  2. An attempt that may have executed is never repeated by a guess. A safe one
//     is repeated anywhere. A conditional one only under the same key, with the
//     same arguments, where the ledger is the same and still keeps the key. What
//     else may have executed is settled by a person, or stays open.
//  3. A round with an open outcome is never closed, so no later run can mistake
//     it for a failure that may be tried afresh.
//  4. The caller's deadline stands above the clocks of an attempt, and the time
//     a hop queues counts against the attempt's maximum.
//  5. One server's trouble stays its own: a handshake runs on its own goroutine
//     with its own limit, and no lock is held across I/O.
//
// Safe hops that take long may have a second request on its way ([Hedge]). What other
// workers see of the servers counts where they share a store ([Fleet]), and error
// rates where a source outside has them ([Rates]).
//
// A hop is worked on by one goroutine, the caller's, which waits for the requests that
// it has others make. The router's own goroutines are the handshakes, the probes with
// one that looks after them ([ProbeOptions]), one that hears of other workers and one
// that asks for error rates; [Router.Close] ends them.
package router
