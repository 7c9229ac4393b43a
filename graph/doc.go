// Package graph builds, checks and runs graphs in supersteps, with LangGraph's
// semantics, typed state and a durable journal.
//
// A graph is a [Spec]: channels (the fields of the state), nodes, edges and
// routes. [Compile] reports every build-time fault at once and returns a
// [Graph], which any number of goroutines may run. The typed façade ([New],
// [AddNode], [AddEach], [Builder.Route]) builds a Spec from a state struct.
//
// # A superstep
//
// A checkpoint names the tasks that run next. All of them run at once, each
// reading the state as it was when the superstep began. When the last one has
// finished, their writes are folded into the channels in task order (node name,
// then index), edges, routes, joins and fan-outs decide what runs next, and one
// [state.CheckpointStore.Commit] makes all of it visible together. The thread
// is completed when nothing runs next.
//
// # Invariants
//
//  1. Nothing visible depends on the order of a map or of goroutines: tasks are
//     ordered by node name and index, writes are folded in that order, joins
//     and predecessors are sorted.
//  2. A task's identity is a hash of thread, lineage, checkpoint, node and
//     index. It is the same in every process that runs the task, so its stored
//     writes, interrupts and hops are found again.
//  3. A finished task's writes are durable before the next thing that could
//     fail: each task stores its own at once, the last one's ride in the
//     commit. A task with durable writes is never run again.
//  4. A superstep with a failed, interrupted or cut task is not committed. What
//     its finished tasks wrote stays pending for the resume.
//  5. A View never changes. Commits build a new one; a node that is abandoned
//     keeps reading the old one.
//  6. What an abandoned node returns is dropped: whoever takes the task's claim
//     first, the node by returning or the run by giving up, decides.
//  7. A fan-out is evaluated once, when its node is planned; its items are part
//     of the checkpoint, their index is the tasks' identity.
//  8. Errors of the store are never swallowed. Operations that are safe to
//     repeat are repeated a bounded number of times, then surface.
//
// # What a run returns
//
// The error of [Graph.Run] and [Graph.Resume] is nil when the thread reached a
// recorded state; [Result].Status tells which: completed, interrupted, failed,
// cancelled, or running with [Result].Drained. Result.Err then holds why a
// thread failed or was cancelled. A non-nil error means that the run could not
// go on or could not be recorded (the store, the lease, bad options); the thread
// is as its last durable operation left it and can be resumed.
//
// # One run at a time
//
// The lease decides who advances a thread. [Graph.Create] makes a thread that
// whoever resumes it runs; [RunOptions].Busy says what a resume does about a
// thread that is held: reject (the default), queue for it, or interrupt its
// holder. It goes on from the head as it is once the lease is its own, so that
// nothing the holder committed is lost. A resume that a queue asked for, and no
// person, sets [RunOptions].Queued: it neither takes up what was stopped nor
// passes a pause that nobody answered.
//
// # Stopping
//
// When a task fails, the hops of its siblings drain (see [state.Draining]): no
// new hop starts, safe ones are cancelled, others may finish within their
// maximum. A sibling's context ends as soon as it has no hop in flight. When
// [RunOptions].Drain is closed, hops drain the same way, but contexts stay
// alive: tasks that finish are kept, tasks that needed another hop end with
// [state.ErrDraining] and run again on resume. When the caller's context ends,
// or a cancellation was requested through the store, every task's context ends
// at once; where its cause is [state.ErrDraining] the run has drained, and the
// thread is not cancelled. A task that ignores its context is abandoned after
// [RunOptions].Grace. Its goroutine lives on until the node returns: Go cannot end
// it. Nodes should therefore pass their context to everything that waits.
//
// # Typed graphs
//
// A struct is the state and its JSON fields are the channels. A node takes the
// struct and returns a partial update: a struct with some of the same fields, in
// which a nil slice, map or pointer is no write and an empty one is. Scalars are
// pointers or [Set], because a zero could not be told from no write. [Overwrite]
// passes a reducer by, a [Goto] field names successors. What does not fit is a
// fault of Compile, not of a run.
//
// # Ways on
//
// A node's edges and routes are followed once when all its tasks have finished,
// unless each of them named its successors itself. A join runs when all its
// predecessors have arrived since it last ran, in whichever supersteps; one whose
// predecessors do not all arrive does not run, and the thread completes without
// it. A fan-out over no items is done at once: what follows it is planned in its
// place.
//
// # Interrupts
//
// A node asks with [Ask] and must return the error it is given; the thread
// pauses once its siblings have finished. On resume the node runs again from
// its top, and Ask returns the answer. Questions match by their order in the
// task, or by name. A task whose questions are all unanswered is not run, unless
// one of them would offer more by now: about a call of unknown outcome, once its
// maximum time is over. Static
// interrupts (PauseBefore, PauseAfter) need no answer: any resume goes on, and
// each fires once. PauseAfter stops before the commit of its superstep, with
// every task's writes durable; Result.State shows them folded.
//
// # Crash points
//
// The process may die before and after every store operation:
//
//	thread.create   before: no thread. after: a pending thread, resumable.
//	lease.acquire   before: as above. after: the lease runs out by itself.
//	thread.running  before, after: as above, or the last stop; resumable.
//	task.writes     before: the task runs again, hops replay. after: it does not.
//	task.failure    before: the node with an error handler runs again. after: only
//	                its handler does.
//	interrupt.put   before: the task runs again and asks the same question
//	                under the same id. after: it waits.
//	step.commit     before: all other writes are pending; only the last task
//	                runs again. after: the next superstep runs.
//	thread.status   before: the thread looks running without a lease; a resume
//	                does what the status would have allowed. after: stopped.
package graph
