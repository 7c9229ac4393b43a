// Package memory is the backend that forgets: a [state.Store] in the memory of
// one process, for tests, for runs that need no durability, and as the model
// the other backends are compared with.
//
// # Invariants
//
// A thread is guarded by one mutex, so each operation on it is atomic; the map
// of threads has a mutex of its own, which is taken before a thread's and never
// held while another thread's operation runs. Values are copied when they come
// in and when they go out. Checkpoints share what they did not change: a
// commit costs what it adds, plus one reference per channel.
//
// The [state.Queue] is a heap by due time under a mutex of its own. A turn that
// is over stays its claimant's until somebody else is given the thread.
package memory
