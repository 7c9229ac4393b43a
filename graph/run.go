package graph

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"junction/state"
)

// Defaults of RunOptions.
const (
	DefaultLeaseTTL    = 10 * time.Second
	DefaultMaxParallel = 64
	DefaultGrace       = 5 * time.Second
)

// run advances one thread. Its fields belong to the executor's goroutine unless
// they say otherwise.
type run struct {
	g     *Graph
	opt   RunOptions
	store state.Store // nil: nothing is kept

	id, lineage string
	seq         int64 // checkpoint at the head
	step        int   // supersteps done
	view        *view
	arrived     map[string][]string
	tasks       []planned       // of the superstep under way
	pending     *state.Snapshot // what an earlier run of it left; nil: nothing

	planner planner
	folding folding
	guard   claim // around code of users on the executor's goroutine

	// unstoppable: nothing can ask for the run's end (no store, no cancellable
	// context, no drain), so that it needs no supervision.
	unstoppable bool

	// Safe for concurrent use.
	ctx       context.Context // ends on cancellation and with the lease
	cancel    context.CancelCauseFunc
	keep      context.Context // of store operations: outlives a cancellation
	drop      context.CancelFunc
	lease     keeper
	drain     drain
	stream    stream
	current   atomic.Pointer[superstep]
	abandoned atomic.Int64
	over      chan struct{}  // closed when the run has ended
	wait      sync.WaitGroup // the run's own goroutines
	mu        sync.Mutex
	questions []state.Interrupt // put in this run
}

// Run creates a thread and runs it until it is completed or stops. See the
// package documentation for what the error and the Result mean.
func (g *Graph) Run(ctx context.Context, o RunOptions) (Result, error) {
	r, err := g.newThreadRun(ctx, "run", o)
	if err != nil {
		return Result{Thread: o.Thread}, err
	}
	return r.supervise(func() ended {
		if err := r.create(); err != nil {
			return r.unbegun(err)
		}
		if r.store != nil {
			if err := r.takeLease(r.ctx); err != nil {
				return r.unbegun(err)
			}
			if r.lease.cancelled { // between the thread's creation and its lease
				return r.stop(state.StatusCancelled, ErrCancelRequested)
			}
		}
		return r.loop()
	})
}

func (g *Graph) newRun(ctx context.Context, o RunOptions) *run {
	r := &run{g: g, opt: o, store: o.Store, id: o.Thread, over: make(chan struct{})}
	r.unstoppable = o.Store == nil && o.Drain == nil && ctx.Done() == nil
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.keep, r.drop = context.WithCancel(context.WithoutCancel(ctx))
	r.stream.on = o.OnEvent
	r.drain.signal = make(chan struct{})
	r.ctx = state.WithDraining(r.ctx, r.drain.signal)
	return r
}

func (r *run) parallel() int {
	switch {
	case r.opt.MaxParallel < 0:
		return math.MaxInt
	case r.opt.MaxParallel == 0:
		return DefaultMaxParallel
	}
	return r.opt.MaxParallel
}

func (r *run) grace() time.Duration {
	if r.opt.Grace > 0 {
		return r.opt.Grace
	}
	return DefaultGrace
}

func (r *run) owner() string {
	if r.opt.Owner != "" {
		return r.opt.Owner
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

func (r *run) ttl() time.Duration {
	if r.opt.LeaseTTL > 0 {
		return r.opt.LeaseTTL
	}
	return DefaultLeaseTTL
}
