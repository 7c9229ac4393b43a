package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

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
	r := g.newRun(ctx, o)
	if r.id == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return Result{}, fmt.Errorf("new thread id: %w", err)
		}
		r.id = id.String()
	}
	r.lineage = r.id
	if r.store != nil {
		// A thread deleted and made again under the same id is another one:
		// its hops must not be taken for the old one's.
		id, err := uuid.NewV7()
		if err != nil {
			return Result{}, fmt.Errorf("new lineage: %w", err)
		}
		r.lineage = id.String()
	}
	if len(o.Answers) > 0 {
		return Result{Thread: r.id}, errors.New("run: answers belong to Resume: a new thread has asked nothing yet")
	}
	return r.supervise(r.create)
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

// create plans the first superstep and makes the thread with it.
func (r *run) create() error {
	r.stream.thread = r.id
	cells, err := r.input()
	if err != nil {
		return err
	}
	r.view = &view{g: r.g, cells: cells}
	r.planner.begin(r, r.view, nil)
	if err := r.planner.first(); err != nil {
		return err
	}
	if r.tasks, err = r.planner.tasks(1); err != nil {
		return err
	}
	r.seq, r.arrived = 1, r.planner.arrived
	if r.store == nil {
		return nil
	}
	n, err := r.newThread()
	if err != nil {
		return err
	}
	if err := r.createThread(n); err != nil {
		return err
	}
	return r.takeLease(r.ctx)
}

// input is the state a run starts from: defaults, replaced by its input.
func (r *run) input() ([]cell, error) {
	cells := append([]cell(nil), r.g.initial...)
	for name, v := range r.opt.Input {
		i, ok := r.g.channels[name]
		if !ok {
			return nil, &UpdateError{Channel: name, Err: errors.New("the input names a channel that does not exist; " + known((&compiler{g: r.g}).channelNames()))}
		}
		v, err := r.g.spec.Channels[i].accept(v)
		if err != nil {
			return nil, &UpdateError{Channel: name, Err: fmt.Errorf("the input: %w", err)}
		}
		cells[i] = cell{value: v, ok: true}
	}
	return cells, nil
}

// newThread is the stored form of the thread's beginning.
func (r *run) newThread() (state.NewThread, error) {
	n := state.NewThread{
		ID: r.id, Workflow: r.g.spec.Name, Version: r.g.spec.Version, Lineage: r.lineage, Meta: r.opt.Meta, Next: stateTasks(r.tasks),
	}
	if r.opt.Definition != nil {
		n.Definition = state.Hash(r.opt.Definition)
		n.Blobs = [][]byte{r.opt.Definition}
	}
	err := r.storedCells(&n)
	return n, err
}
