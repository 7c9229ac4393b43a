package graph

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"junction/state"
)

// Start and End are the borders of every graph; they name no node.
const (
	Start = "start"
	End   = "end"
)

// Spec is an untyped graph: what the typed builder and workflow files build.
type Spec struct {
	Name           string
	Version        string // stored with every thread; a mismatch on resume is refused
	Channels       []Channel
	Nodes          []Node
	Edges          []Edge
	Routes         []Route
	RecursionLimit int // supersteps; 0: DefaultRecursionLimit (1,000)
}

// Channel is one field of the state.
type Channel struct {
	Name    string
	Type    reflect.Type // of its values in Go (an append channel's: a slice); nil: any value of package value
	Reduce  Reducer      // nil: last value, and two writers in one superstep are an error
	Append  bool         // an append channel: writes are lists that are added; Reduce is nil
	Default any          // initial value; nil: none
}

// Reducer folds one write into a channel's value. It must not change its
// arguments. Writes arrive in task order (node name, then index). The first
// write to a channel that has no value becomes its value; the reducer is not
// asked.
type Reducer func(old, write any) (any, error)

// Node is one step of work.
type Node struct {
	Name    string
	Run     Func
	Each    func(View) ([]any, error) // fan-out: one task per item, evaluated once when planned; nil: one task
	Item    reflect.Type              // of the items in Go; nil: any value of package value
	Writes  []string                  // channels it may write; nil: all
	Goto    []string                  // nodes it may name as successors (Update.Goto); End is allowed
	Retry   *Retry                    // nil: one attempt
	Timeout time.Duration             // of one attempt; 0: none. Its error handler is bound by it too
	OnError Func                      // runs when Run has failed for good; a task of its own, recorded once
	// PauseBefore and PauseAfter stop the thread at a static interrupt.
	PauseBefore, PauseAfter bool
}

// Edge leads from nodes to a node. With several From it is a join: To runs once
// all of them have run.
type Edge struct {
	From []string
	To   string
}

// Route leads from a node to those its function names, each of them in To.
type Route struct {
	From string
	To   []string
	Pick func(ctx context.Context, v View) ([]string, error)
}

// Retry runs a node again when it fails. Interrupts, cancellation, lost leases
// and state.NondeterminismError are never retried.
type Retry struct {
	Attempts int              // in all; 0: 3
	Delay    time.Duration    // before the second attempt; 0: 500 ms; doubled each time, full jitter
	Cap      time.Duration    // longest delay; 0: 128 s
	If       func(error) bool // nil: every other error
}

// Func does a node's work. ctx carries the task's journal (state.JournalFrom)
// and what Ask and Emit need; it ends on cancellation, on the node's timeout
// and when a sibling fails.
type Func func(ctx context.Context, in Input) (Update, error)

// Input is what a task is given.
type Input struct {
	State View
	Task  state.Task
	Item  any   // the decoded item of a fan-out or of a Send; nil otherwise
	Err   error // in an error handler: what the node failed with; after a resume a *RecordedError
}

// View reads the state as it was when the superstep began.
type View interface {
	// Get returns a channel's value (of the channel's Type) and whether it has one.
	Get(channel string) (any, bool)
}

// Update is what a task returns.
type Update struct {
	Writes []Write
	Goto   []Send // with Named: the successors instead of the node's edges
	Named  bool
}

// Write puts a value in a channel. For an append channel it is a slice of the
// items to add.
type Write struct {
	Channel   string
	Value     any
	Overwrite bool // bypass the reducer, or begin an append channel anew
}

// Send starts a node with an item of its own.
type Send struct {
	Node string
	Item any
}

// EventKind says what an event tells.
type EventKind string

const (
	EventStep       EventKind = "step"        // a superstep begins: Step, Nodes, Tasks
	EventTask       EventKind = "task"        // a task begins
	EventTaskDone   EventKind = "task_done"   // a task has ended: Err, Update
	EventRetry      EventKind = "retry"       // a node will be run again: Err, Attempt
	EventCheckpoint EventKind = "checkpoint"  // a superstep has been committed
	EventInterrupt  EventKind = "interrupt"   // a question waits
	EventLargeWrite EventKind = "large_write" // a task wrote more than LargeWriteLimit: Value is a LargeWrite
	EventCustom     EventKind = "custom"      // what a node emitted (hops, progress): Value
	EventEnd        EventKind = "end"         // the run is over: Status, Err
)

// LargeWriteLimit is the size in bytes of JSON above which a write is warned
// of: it is kept all the same, its large leaves once by hash.
const LargeWriteLimit = 1 << 20

// LargeWrite is a write above LargeWriteLimit.
type LargeWrite struct {
	Channel string
	Bytes   int // of JSON
}

// Event is one entry of a run's stream.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Thread  string
	Step    int
	Seq     int64
	Task    string
	Node    string
	Index   int
	Nodes   []string // of a superstep, each once
	Tasks   int      // of a superstep, those with stored writes included
	Attempt int
	Update  Update
	Value   any
	Status  state.Status
	Err     error
}

// RunOptions are the choices of one run; the zero value runs in memory.
type RunOptions struct {
	Store      state.Store                // nil: nothing is kept
	Thread     string                     // id; "": a new UUIDv7
	Definition []byte                     // the workflow file's text, stored by hash
	Meta       map[string]string          // kept with the thread
	Input      map[string]any             // initial writes to channels
	Owner      string                     // of the lease; "": host and process id
	LeaseTTL   time.Duration              // 0: 10 s
	Drain      <-chan struct{}            // closed: stop at the next superstep border
	OnEvent    func(Event)                // called in order, never concurrently; must not block for long
	Answers    map[string]json.RawMessage // Resume: by interrupt id; "": the only one that waits
	// Busy says what a resume does while another worker holds the thread; "":
	// BusyReject.
	Busy BusyPolicy
	// WaitBusy is called about once a second while a resume waits for another
	// worker's lease, with the time it has still to run. Under BusyReject its
	// being set is what makes a resume wait at all: for a lease that runs out; one
	// that is renewed meanwhile has a live owner and is not waited for.
	WaitBusy func(remaining time.Duration)
	// Queued is set by a worker that resumes a thread because a queue named it,
	// not because somebody wants it to go on: a thread that has been stopped is
	// left as it is, see [Graph.Resume].
	Queued bool
	// Check hashes what nodes were given before and after them and fails a node
	// that changed it.
	Check bool
	// MaxParallel bounds the tasks of a superstep that run at once; 0: 64,
	// negative: no bound.
	MaxParallel int
	// Grace is how long a task whose context has ended may take to return
	// before it is abandoned; 0: 5 s.
	Grace time.Duration
}

// Result is how a run ended.
type Result struct {
	Thread     string
	Status     state.Status
	State      map[string]any    // by channel, values of the channels' types
	Interrupts []state.Interrupt // waiting ones
	Drained    bool              // stopped by Drain: at a superstep border, or before a hop; resumable
	Err        error             // of a failed or cancelled run
	Abandoned  int               // tasks that ignored the end of their context; their goroutines may live on
	Seq        int64             // checkpoint the State is of
	Step       int               // supersteps done
}
