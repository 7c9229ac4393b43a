package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
	"junction/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const turn = 10 * time.Second

// fleet is a store with its queue and what its threads do to the world.
type fleet struct {
	*memory.Store
	g       *graph.Graph
	claims  atomic.Int64
	effects tally // by idempotency key
	sent    tally // requests, by thread
	ran     tally // by thread and worker
	node    graph.Func
}

// tally counts by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func (c *tally) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

func (c *tally) names() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.n)
}

// newFleet is a store for threads of a few nodes that each run node.
func newFleet(t testing.TB, nodes int, node graph.Func) *fleet {
	t.Helper()
	f := &fleet{Store: memory.New(nil), node: node}
	s := graph.Spec{Name: "test", Channels: []graph.Channel{{Name: "log", Append: true}}}
	from := graph.Start
	for i := range nodes {
		name := fmt.Sprint("n", i)
		s.Nodes = append(s.Nodes, graph.Node{Name: name, Run: node})
		s.Edges = append(s.Edges, graph.Edge{From: []string{from}, To: name})
		from = name
	}
	s.Edges = append(s.Edges, graph.Edge{From: []string{from}, To: graph.End})
	g, err := graph.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	f.g = g
	return f
}

// enqueue makes threads and leaves them to the workers.
func (f *fleet) enqueue(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		err := worker.Enqueue(t.Context(), f.Store, id, func(ctx context.Context) error {
			_, err := f.g.Create(ctx, graph.RunOptions{Store: f.Store, Thread: id})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fleet) status(t testing.TB, id string) state.Status {
	t.Helper()
	th, err := f.Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return th.Status
}

// mortal is the store as one worker sees it: from its death on everything fails,
// also what was under way.
type mortal struct {
	*fleet
	dead atomic.Bool
}

var errDead = fmt.Errorf("the process is dead: %w", state.ErrUnavailable)

// op lets an operation through while the worker lives.
func op[T any](m *mortal, f func() (T, error)) (T, error) {
	var none T
	if m.dead.Load() {
		return none, errDead
	}
	v, err := f()
	if m.dead.Load() {
		return none, errDead
	}
	return v, err
}

func do(m *mortal, f func() error) error {
	_, err := op(m, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (m *mortal) Thread(ctx context.Context, id string) (state.Thread, error) {
	return op(m, func() (state.Thread, error) { return m.fleet.Thread(ctx, id) })
}

func (m *mortal) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (state.Lease, error) {
	return op(m, func() (state.Lease, error) { return m.fleet.Acquire(ctx, id, owner, ttl) })
}

func (m *mortal) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	return op(m, func() (state.Lease, error) { return m.fleet.Renew(ctx, l) })
}

func (m *mortal) Release(ctx context.Context, l state.Lease) error {
	return do(m, func() error { return m.fleet.Release(ctx, l) })
}

func (m *mortal) SetStatus(ctx context.Context, l state.Lease, s state.Status, f *state.Failure, r []state.Record) error {
	return do(m, func() error { return m.fleet.SetStatus(ctx, l, s, f, r) })
}

func (m *mortal) PutWrites(ctx context.Context, l state.Lease, seq int64, w state.TaskWrites, r []state.Record) error {
	return do(m, func() error { return m.fleet.PutWrites(ctx, l, seq, w, r) })
}

func (m *mortal) PutRecords(ctx context.Context, l state.Lease, r []state.Record) error {
	return do(m, func() error { return m.fleet.PutRecords(ctx, l, r) })
}

func (m *mortal) Commit(ctx context.Context, c state.Commit) (state.Checkpoint, error) {
	return op(m, func() (state.Checkpoint, error) { return m.fleet.Commit(ctx, c) })
}

func (m *mortal) Load(ctx context.Context, id string, seq int64) (state.Snapshot, error) {
	return op(m, func() (state.Snapshot, error) { return m.fleet.Load(ctx, id, seq) })
}

func (m *mortal) Claim(ctx context.Context, n int, d time.Duration) (cs []state.Claim, next time.Duration, err error) {
	m.claims.Add(1)
	cs, err = op(m, func() (cs []state.Claim, err error) { cs, next, err = m.fleet.Claim(ctx, n, d); return cs, err })
	return cs, next, err
}

func (m *mortal) Extend(ctx context.Context, cs []state.Claim, d time.Duration) ([]state.Claim, error) {
	return op(m, func() ([]state.Claim, error) { return m.fleet.Extend(ctx, cs, d) })
}

func (m *mortal) Done(ctx context.Context, c state.Claim) error {
	return do(m, func() error { return m.fleet.Done(ctx, c) })
}

func (m *mortal) Defer(ctx context.Context, c state.Claim, after time.Duration) error {
	return do(m, func() error { return m.fleet.Defer(ctx, c, after) })
}

func (m *mortal) Enqueue(ctx context.Context, thread string, after time.Duration) error {
	return do(m, func() error { return m.fleet.Enqueue(ctx, thread, after) })
}

func (m *mortal) WaitQueued(ctx context.Context, most time.Duration) error {
	if err := m.fleet.WaitQueued(ctx, most); err != nil || m.dead.Load() {
		return errors.Join(err, errDead)
	}
	return nil
}

// process is a worker that serves until it is stopped or killed.
type process struct {
	*worker.Worker
	store *mortal
	name  string
	stop  func() error // drains; returns what Serve does
	kill  func()       // cuts it off from the store; what it does goes on unheard
	// mayCut: the test expects threads to be cut, or looks at the error itself.
	mayCut bool
	mu     sync.Mutex
	saw    []worker.Event
}

// start runs a worker over the fleet; o may be nil.
func (f *fleet) start(t testing.TB, name string, o *worker.Options) *process {
	t.Helper()
	p := &process{store: &mortal{fleet: f}, name: name}
	opt := worker.Options{}
	if o != nil {
		opt = *o
	}
	opt.Owner = name
	opt.OnEvent = func(e worker.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.saw = append(p.saw, e)
	}
	p.Worker = worker.New(p.store, p.store, func(ctx context.Context, th state.Thread, ro graph.RunOptions) (graph.Result, error) {
		f.ran.add(th.ID)
		return f.g.Resume(ctx, th.ID, ro)
	}, &opt)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		err = p.Serve(ctx)
	}()
	p.stop = func() error {
		cancel()
		<-ended
		return err
	}
	p.kill = func() {
		p.store.dead.Store(true)
		cancel()
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil && !p.mayCut && !p.store.dead.Load() {
			t.Errorf("worker %s: %v", name, err)
		}
	})
	return p
}

// events lists what the worker told of a thread.
func (p *process) events(thread string) (kinds []worker.EventKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.saw {
		if e.Thread == thread {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// await polls until yes holds, for at most d.
func await(t testing.TB, d time.Duration, what string, yes func() bool) {
	t.Helper()
	limit := time.After(d)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("after %s still not: %s", d, what)
		}
	}
}

// sleeping is a node that takes a while, and ends with its context.
func sleeping(d time.Duration) graph.Func {
	return func(ctx context.Context, _ graph.Input) (graph.Update, error) {
		select {
		case <-time.After(d):
			return graph.Update{}, nil
		case <-ctx.Done():
			return graph.Update{}, ctx.Err()
		}
	}
}
