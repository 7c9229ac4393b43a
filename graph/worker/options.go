package worker

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"junction/graph"
	"junction/state"
)

// Defaults of Options.
const (
	DefaultThreads = 64
	DefaultTurn    = graph.DefaultLeaseTTL
	DefaultGrace   = 30 * time.Second
)

// RunFunc runs a thread that was given to the worker: it finds the graph the
// thread belongs to and returns what its Resume does with o. It is called from
// many goroutines at once. o must reach Resume as it is, but for what concerns the
// caller alone (OnEvent, MaxParallel, Grace). ctx ends when the worker was told to
// stop and its grace is over.
type RunFunc func(ctx context.Context, thread state.Thread, o graph.RunOptions) (graph.Result, error)

// Options are a worker's settings; nil is the zero value.
type Options struct {
	Owner   string        // in leases and logs; "": host, process id and a random part
	Threads int           // run at once; 0: 64
	Turn    time.Duration // of claims and leases: how long after a worker's death others wait; 0: 10 s
	Grace   time.Duration // of a drain, before threads are cut; 0: 30 s, negative: none
	// Elsewhere says of a failed run's error that another worker may have what this
	// one lacks. The thread is then made pending again and handed back, a few times
	// by each worker, before its failure stands. nil: it stands at once.
	Elsewhere func(error) bool
	OnEvent   func(Event)  // called from many goroutines at once; must not block for long
	Log       *slog.Logger // nil: silence
	Seed      uint64       // of jitter; 0: from Owner
}

// EventKind says what an event tells.
type EventKind string

const (
	EventTaken    EventKind = "taken"     // a thread is about to be run; Status as it was found
	EventEnded    EventKind = "ended"     // its run ended with Status
	EventBusy     EventKind = "busy"      // another worker holds it
	EventDropped  EventKind = "dropped"   // there was nothing to run: Status, or "" for no such thread
	EventHandBack EventKind = "hand_back" // drained; another worker takes it
	EventLeft     EventKind = "left"      // its run broke off, it will be tried again: Err
	EventGone     EventKind = "gone"      // it vanished or its store went back, nothing runs it again: Err
	EventTrouble  EventKind = "trouble"   // the queue cannot be asked: Err
)

// Event is one thing that happened to a worker.
type Event struct {
	Kind   EventKind
	Thread string
	Status state.Status
	Err    error
}

// filled is o with its defaults.
func filled(o *Options) Options {
	var f Options
	if o != nil {
		f = *o
	}
	if f.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		f.Owner = fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:8])
	}
	if f.Threads <= 0 {
		f.Threads = DefaultThreads
	}
	if f.Turn <= 0 {
		f.Turn = DefaultTurn
	}
	if f.Grace == 0 {
		f.Grace = DefaultGrace
	}
	if f.Log == nil {
		f.Log = slog.New(slog.DiscardHandler)
	}
	f.Log = f.Log.With("worker", f.Owner)
	return f
}
