package state

import (
	"context"
	"encoding/json"
	"time"
)

// Task is one execution of a node in a superstep, as planned by the checkpoint
// before it.
type Task struct {
	ID    string          `json:"id"` // stable: derived from thread, lineage, checkpoint, node and index
	Node  string          `json:"node"`
	Index int             `json:"index"`          // place among the tasks of its node
	Fan   bool            `json:"fan,omitempty"`  // one of several made from a list of items
	Item  json.RawMessage `json:"item,omitempty"` // what it was given, evaluated once
	From  []string        `json:"from,omitempty"` // the nodes that led here, sorted
}

// ChannelRef says where a channel's value lies at a checkpoint.
type ChannelRef struct {
	Set int64 `json:"set"`           // Seq at which the value, or the log's current generation, was written
	Log bool  `json:"log,omitempty"` // an append channel
	Len int   `json:"len,omitempty"` // items in the log's current generation up to this checkpoint
}

// Checkpoint is the state after a superstep, without values.
type Checkpoint struct {
	Thread   string                `json:"thread"`
	Seq      int64                 `json:"seq"`    // 1, 2, 3 … within a thread
	Parent   int64                 `json:"parent"` // 0 for the first
	Lineage  string                `json:"lineage"`
	Step     int                   `json:"step"`   // supersteps done
	Source   string                `json:"source"` // "input" or "step"
	Channels map[string]ChannelRef `json:"channels"`
	Next     []Task                `json:"next,omitempty"`
	Arrived  map[string][]string   `json:"arrived,omitempty"` // join node → predecessors that have arrived, sorted
	Created  time.Time             `json:"created"`
}

// Write is what a task puts in a channel.
type Write struct {
	Channel   string          `json:"channel"`
	Value     json.RawMessage `json:"value"`
	Overwrite bool            `json:"overwrite,omitempty"` // bypass the reducer
}

// Send names a successor: a node, and what it is given.
type Send struct {
	Node string          `json:"node"`
	Item json.RawMessage `json:"item,omitempty"`
}

// TaskWrites is all that a finished task leaves behind.
type TaskWrites struct {
	Task    string   `json:"task"`
	Writes  []Write  `json:"writes,omitempty"`
	Goto    []Send   `json:"goto,omitempty"`    // successors the node named itself
	Named   bool     `json:"named,omitempty"`   // Goto counts even when empty
	Handled *Failure `json:"handled,omitempty"` // the failure an error handler took care of
}

// Interrupt is a question a task asked and waits for.
type Interrupt struct {
	ID       string          `json:"id"`
	Task     string          `json:"task"`
	Node     string          `json:"node"`
	Value    json.RawMessage `json:"value"`            // the question, as shown to people
	Schema   json.RawMessage `json:"schema,omitempty"` // JSON Schema the answer must satisfy
	Answer   json.RawMessage `json:"answer,omitempty"` // nil while waiting
	Asked    time.Time       `json:"asked"`
	Answered time.Time       `json:"answered,omitzero"`
	// Live: whoever asks waits for the answer in the middle of a call, and withdraws
	// the question (by an answer of its own) when the call ends. It holds no task
	// back.
	Live bool `json:"live,omitempty"`
}

// Commit advances a thread by one superstep.
type Commit struct {
	Lease   Lease
	Parent  int64  // the head this follows; another head is ErrConflict
	WriteID string // the same id again returns the same checkpoint: replay-safe
	Step    int
	Next    []Task
	Arrived map[string][]string
	// Set writes last-value channels; for an append channel it begins a new
	// generation with the items of the given JSON array. Append adds items to
	// append channels. Channels named by neither keep their reference.
	Set     map[string]json.RawMessage
	Append  map[string][]json.RawMessage
	Records []Record // safe outcomes that waited for this operation
	Status  Status   // StatusRunning or StatusCompleted
}

// Snapshot is a checkpoint with its values and what happened since.
type Snapshot struct {
	Checkpoint
	Values     map[string]json.RawMessage   // last-value channels
	Logs       map[string][]json.RawMessage // append channels, item by item
	Pending    map[string]TaskWrites        // by task id: finished tasks of the superstep under way
	Interrupts []Interrupt                  // of the superstep under way, in order of Task then ID
	Records    []Record                     // of the superstep under way, with results, in order of Hop, Round, Attempt
}

// CheckpointStore keeps checkpoints and what a superstep under way has reached.
type CheckpointStore interface {
	// Load returns the checkpoint seq (0: the head) with its values. Pending,
	// Interrupts and Records are filled for the head only.
	Load(ctx context.Context, thread string, seq int64) (Snapshot, error)
	// Checkpoints returns checkpoints without values, newest first, at most
	// limit (0: all), older than before (0: from the head).
	Checkpoints(ctx context.Context, thread string, before int64, limit int) ([]Checkpoint, error)
	// PutWrites makes one task's writes durable, with the records that waited
	// for them, in one operation. The first write of a task wins.
	PutWrites(ctx context.Context, l Lease, seq int64, w TaskWrites, records []Record) error
	// PutInterrupt makes a question durable. The same id again puts the question
	// anew: it replaces one that waits, and leaves one that is answered as it is.
	PutInterrupt(ctx context.Context, l Lease, seq int64, i Interrupt, records []Record) error
	// Answer stores answers by interrupt id, all or none. It needs no lease. An
	// unknown id is ErrNotFound, an answered one ErrAnswered.
	Answer(ctx context.Context, thread string, answers map[string]json.RawMessage) error
	// Commit advances the head. At the commit the results of the superstep's
	// records are dropped; the call records stay. Interrupts and writes of the
	// superstep are no longer pending.
	Commit(ctx context.Context, c Commit) (Checkpoint, error)
}
