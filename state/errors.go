package state

import (
	"errors"
	"fmt"
	"time"
)

// States a caller can act upon. Backends wrap them with the thread and, where
// there is one, the address or file; compare with errors.Is.
var (
	// ErrNotFound: the thread, checkpoint, interrupt or blob does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: a thread of this id exists already.
	ErrExists = errors.New("exists already")
	// ErrConflict: the thread's head is not the parent the commit was made for.
	ErrConflict = errors.New("checkpoint conflict")
	// ErrLeaseLost: another worker holds the thread now, or the lease ran out.
	ErrLeaseLost = errors.New("lease lost")
	// ErrBusy: another live worker holds the thread's lease (see [BusyError]).
	ErrBusy = errors.New("thread is busy")
	// ErrVanished: the thread is gone while somebody held its lease. It comes
	// with ErrLeaseLost.
	ErrVanished = errors.New("thread has vanished")
	// ErrRegressed: the store has gone back behind what it acknowledged, as a
	// failover or a restored backup can make it. It comes with ErrLeaseLost; the
	// thread must not be advanced before somebody has looked at it.
	ErrRegressed = errors.New("store has gone back")
	// ErrUnavailable: the store could not be reached, or refused all work, for as
	// long as an operation may take. Nothing of what was kept is lost.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrAnswered: the interrupt has an answer already; it is kept.
	ErrAnswered = errors.New("interrupt is answered already")
	// ErrNewer: the database was written by a newer version; it was not touched.
	ErrNewer = errors.New("written by a newer version")
	// ErrCorrupt: the database cannot be read as one; it was not touched.
	ErrCorrupt = errors.New("database is corrupt")
)

// BusyError says who holds a thread's lease and for how much longer at most.
type BusyError struct {
	Thread    string
	Owner     string
	Remaining time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("thread %s is being run by %s (its lease runs %s more)", e.Thread, e.Owner, e.Remaining.Round(time.Millisecond))
}

// Unwrap makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Unwrap() error { return ErrBusy }

// NondeterminismError reports that a task ran again after a crash and asked,
// under the identity of a hop made before, for something else. Nothing is sent.
type NondeterminismError struct {
	Node, Hop        string
	Recorded, Wanted string // fingerprints of the arguments (SHA-256, hex)
}

func (e *NondeterminismError) Error() string {
	return fmt.Sprintf("node %q: hop %s was recorded with arguments %.12s… and is now asked for with %.12s…: "+
		"a node must make the same calls when it runs again; derive its arguments from the state only", e.Node, e.Hop, e.Recorded, e.Wanted)
}

// OpenHopError reports a second numbered hop begun while one is open, or a name
// used twice in one run of a task.
type OpenHopError struct {
	Node, Open string
	Named      bool
}

func (e *OpenHopError) Error() string {
	if e.Named {
		return fmt.Sprintf("node %q: the name of hop %s is used twice: each hop of a task needs a name of its own (router.Key)", e.Node, e.Open)
	}
	return fmt.Sprintf("node %q: hop %s is still open: hops of one task run one after another; "+
		"give each a name of its own (router.Key) to run them at once", e.Node, e.Open)
}

// JournalError reports that the journal of a task could not be kept: what the
// hop did, if anything, is not the node's failure, and no error handler's to
// take care of.
type JournalError struct {
	Node string
	What string // what was to be stored
	Err  error
}

func (e *JournalError) Error() string {
	return fmt.Sprintf("journal of node %q: %s: %v", e.Node, e.What, e.Err)
}

// Unwrap returns the store's error.
func (e *JournalError) Unwrap() error { return e.Err }
