package graph

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"junction/state"
)

// States of a run a caller can act upon; compare with errors.Is.
var (
	// ErrFinished: the thread is completed, there is nothing to resume.
	ErrFinished = errors.New("thread is completed")
	// ErrInterrupt is what a node must return, as [Ask] gave it, to pause.
	ErrInterrupt = errors.New("interrupted")
	// ErrMismatch: the thread belongs to another graph or version.
	ErrMismatch = errors.New("thread belongs to another graph")
	// ErrStopped: nobody wants the queued thread to go on. It failed, was
	// cancelled, or waits for answers.
	ErrStopped = errors.New("thread is stopped")
	// ErrCancelRequested: the thread was asked to stop through its store.
	ErrCancelRequested = errors.New("cancellation was requested")
)

// NodeError is a node that failed for good.
type NodeError struct {
	Node  string
	Index int // of the task among those of its node
	Step  int // superstep, from 1
	Err   error
}

func (e *NodeError) Error() string {
	if e.Index > 0 {
		return fmt.Sprintf("node %q, task %d (superstep %d): %v", e.Node, e.Index, e.Step, e.Err)
	}
	return fmt.Sprintf("node %q (superstep %d): %v", e.Node, e.Step, e.Err)
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// Failure keeps code, server and hop of the cause and adds the node.
func (e *NodeError) Failure() state.Failure {
	f := state.FailureOf(e.Err)
	f.Node, f.Message = e.Node, e.Error()
	return f
}

// PanicError is a panic of a node, with the stack it happened on.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, ok := e.Value.(error)
	if !ok {
		return nil
	}
	return err
}

// Failure gives a panic its code.
func (e *PanicError) Failure() state.Failure {
	return state.Failure{Code: "node_panic", Message: e.Error()}
}

// TimeoutError is an attempt of a node that took longer than its Timeout.
type TimeoutError struct {
	Node    string
	Timeout time.Duration
	Err     error // what the node returned, or nil when it was abandoned
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("node %q took longer than its timeout of %s", e.Node, e.Timeout)
}

// Unwrap returns what the node returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Failure gives a timeout its code and keeps server and hop of the cause.
func (e *TimeoutError) Failure() state.Failure {
	f := state.Failure{}
	if e.Err != nil {
		f = state.FailureOf(e.Err)
	}
	f.Code, f.Message = "node_timeout", e.Error()
	return f
}

// ConcurrentWriteError reports two tasks of one superstep that wrote a channel
// which has no reducer.
type ConcurrentWriteError struct {
	Channel string
	Nodes   [2]string // in task order; equal for two tasks of one fan-out
	Tasks   [2]int    // their indexes
}

func (e *ConcurrentWriteError) Error() string {
	return fmt.Sprintf("channel %q was written by node %q (task %d) and by node %q (task %d) in one superstep: "+
		"give the channel a reducer, or run the nodes one after the other", e.Channel, e.Nodes[0], e.Tasks[0], e.Nodes[1], e.Tasks[1])
}

// Failure gives the conflict its code and names the second writer.
func (e *ConcurrentWriteError) Failure() state.Failure {
	return state.Failure{Code: "concurrent_write", Message: e.Error(), Node: e.Nodes[1]}
}

// RecursionError reports a run that did not end within its limit of supersteps,
// or a ring of empty fan-outs that would never run anything.
type RecursionError struct {
	Limit int
	Nodes []string // that would have run next
}

func (e *RecursionError) Error() string {
	return fmt.Sprintf("not finished after %d supersteps, next would be %s: check the condition that ends the loop, "+
		"or raise the recursion limit", e.Limit, strings.Join(e.Nodes, ", "))
}

// Failure gives the limit its code.
func (e *RecursionError) Failure() state.Failure {
	return state.Failure{Code: "recursion_limit", Message: e.Error()}
}

// UpdateError is a node's update that does not fit its graph: an unknown
// channel, a value of the wrong type, a successor it did not declare. It is
// neither retried nor given to an error handler.
type UpdateError struct {
	Channel string // or ""
	Err     error
}

func (e *UpdateError) Error() string {
	if e.Channel == "" {
		return fmt.Sprintf("invalid update: %v", e.Err)
	}
	return fmt.Sprintf("invalid update of channel %q: %v", e.Channel, e.Err)
}

// Unwrap returns the cause.
func (e *UpdateError) Unwrap() error { return e.Err }

// Failure gives an invalid update its code.
func (e *UpdateError) Failure() state.Failure {
	return state.Failure{Code: "invalid_update", Message: e.Error()}
}

// MutationError reports, in checked mode, a node that changed what it was
// given.
type MutationError struct{ Channels []string }

func (e *MutationError) Error() string {
	return fmt.Sprintf("it changed what it was given (%s): return an update, do not write into the state", strings.Join(e.Channels, ", "))
}

// Failure gives the change its code.
func (e *MutationError) Failure() state.Failure {
	return state.Failure{Code: "state_changed", Message: e.Error()}
}
