package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"junction/graph"
	"junction/state"
)

// proxyWorkflow is what the threads of proxies are called by.
const proxyWorkflow = "proxy"

const (
	// proxyLease is the time to live of the thread's lease.
	proxyLease = 10 * time.Second
	// storeWithin bounds one operation of the store that no call waits for.
	storeWithin = 10 * time.Second
	// mostUnstored bounds the records of safe calls that wait for a store which is
	// away; the oldest give way.
	mostUnstored = 4096
)

// proxyThread is the thread that the calls of one proxy are recorded in: one
// superstep without an end, whose tasks are the calls. No result is stored, since
// nobody resumes it. While the store is away, safe calls go on, and others fail before
// they are made.
type proxyThread struct {
	store   state.Store
	id      string
	lineage string
	log     *slog.Logger
	stopped chan struct{} // closed when somebody asks for the thread's end …
	stop    func()        // … by this

	lease atomic.Pointer[state.Lease]
	end   context.CancelFunc
	work  sync.WaitGroup

	mu      sync.Mutex
	waiting []state.Record
	lost    int           // records that gave way
	wake    chan struct{} // holds a token while some wait
}

// openProxyThread makes the thread and keeps its lease. Threads of proxies that died
// are closed before.
func openProxyThread(ctx context.Context, store state.Store, log *slog.Logger) (*proxyThread, error) {
	id, err := graph.NewThreadID()
	if err != nil {
		return nil, err
	}
	t := &proxyThread{store: store, id: id, lineage: uuid.NewString(), log: log, stopped: make(chan struct{}), wake: make(chan struct{}, 1)}
	t.stop = sync.OnceFunc(func() { close(t.stopped) })
	closeDeadProxies(ctx, store, log)
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := store.CreateThread(ctx, state.NewThread{ID: id, Workflow: proxyWorkflow, Lineage: t.lineage, Meta: map[string]string{"dir": dir}}); err != nil {
		return nil, fmt.Errorf("the thread of this proxy: %w", err)
	}
	if err := t.acquire(ctx); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	t.end = end
	t.work.Go(func() { t.keepLease(life) })
	t.work.Go(func() { t.keepRecords(life) })
	return t, nil
}

// closeDeadProxies fails the threads of proxies that nobody holds any more.
func closeDeadProxies(ctx context.Context, store state.Store, log *slog.Logger) {
	dead, err := store.Threads(ctx, state.ThreadFilter{Status: state.StatusRunning, Workflow: proxyWorkflow, Limit: 100})
	if err != nil {
		log.Warn("threads of earlier proxies were not looked at", "error", err)
		return
	}
	for _, t := range dead {
		lease, err := store.Acquire(ctx, t.ID, proxyOwner(), proxyLease)
		if errors.Is(err, state.ErrBusy) {
			continue // it lives
		}
		if err == nil {
			err = errors.Join(store.SetStatus(ctx, lease, state.StatusFailed, &state.Failure{
				Code: "proxy_died", Message: "the proxy ended without a word; a call without an outcome in its history may have taken effect",
			}, nil), store.Release(ctx, lease))
		}
		if err != nil {
			log.Warn("the thread of an earlier proxy was not closed", "thread", t.ID, "error", err)
		}
	}
}

func proxyOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

func (t *proxyThread) acquire(ctx context.Context) error {
	lease, err := t.store.Acquire(ctx, t.id, proxyOwner(), proxyLease)
	if err != nil {
		return fmt.Errorf("the thread of this proxy: %w", err)
	}
	t.lease.Store(&lease)
	if lease.Cancelled {
		t.stop()
	}
	if err := t.store.SetStatus(ctx, lease, state.StatusRunning, nil, nil); err != nil {
		return fmt.Errorf("the thread of this proxy: %w", err)
	}
	return nil
}

// Journal implements routed.Thread.
func (t *proxyThread) Journal(task, node string, prior []state.Record, ask state.Ask) *state.Journal {
	return state.NewJournal(
		state.Scope{Thread: t.id, Lineage: t.lineage, Seq: 1, Task: task, Node: node},
		state.JournalOptions{Store: withoutResults{t.store}, Lease: t.held, Prior: prior, Ask: ask, Live: ask},
	)
}

func (t *proxyThread) held() state.Lease { return *t.lease.Load() }

// withoutResults stores records as they are after a commit.
type withoutResults struct{ state.Store }

func (s withoutResults) PutRecords(ctx context.Context, l state.Lease, records []state.Record) error {
	return s.Store.PutRecords(ctx, l, bare(records))
}

func bare(records []state.Record) []state.Record {
	records = slices.Clone(records)
	for i := range records {
		records[i].Result = nil
	}
	return records
}

// Keep implements routed.Thread.
func (t *proxyThread) Keep(j *state.Journal) {
	records := bare(j.Take())
	if len(records) == 0 {
		return
	}
	t.mu.Lock()
	t.await(append(t.waiting, records...))
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// keepRecords stores what waits, again and again while the store is away.
func (t *proxyThread) keepRecords(ctx context.Context) {
	for {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return
		}
		for !t.flush(ctx) {
			pause := time.NewTimer(time.Second)
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return
			}
		}
	}
}

// flush stores what waits; false: it could not be.
func (t *proxyThread) flush(ctx context.Context) bool {
	t.mu.Lock()
	records, lost := t.waiting, t.lost
	t.waiting, t.lost = nil, 0
	t.mu.Unlock()
	if lost > 0 {
		t.log.Warn("records of safe calls are lost, since the store was away for too long", "records", lost)
	}
	if len(records) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	err := t.store.PutRecords(ctx, t.held(), records)
	if err == nil {
		return true
	}
	t.log.Debug("records are not stored yet", "error", err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.await(append(records, t.waiting...))
	return false
}

// await has the records wait, but for the oldest where they are too many. The caller
// holds mu.
func (t *proxyThread) await(records []state.Record) {
	if over := len(records) - mostUnstored; over > 0 {
		records, t.lost = slices.Delete(records, 0, over), t.lost+over
	}
	t.waiting = records
}

// keepLease renews the lease every third of its time, takes it anew where it was lost,
// and looks whether somebody wants the thread's end.
func (t *proxyThread) keepLease(ctx context.Context) {
	tick := time.NewTicker(proxyLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := t.renew(ctx); err != nil && ctx.Err() == nil {
			t.log.Warn("the proxy's thread is not kept at the moment; calls that are not safe fail meanwhile", "error", err)
		}
		within, cancel := context.WithTimeout(ctx, storeWithin)
		wanted, err := t.store.CancelRequested(within, t.id)
		cancel()
		if err == nil && wanted {
			t.stop()
		}
	}
}

func (t *proxyThread) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	lease, err := t.store.Renew(ctx, t.held())
	if errors.Is(err, state.ErrLeaseLost) && !errors.Is(err, state.ErrVanished) {
		return t.acquire(ctx)
	}
	if err == nil {
		t.lease.Store(&lease)
	}
	return err
}

// close stores what is left and ends the thread: completed, or cancelled where somebody
// asked for that.
func (t *proxyThread) close(ctx context.Context) error {
	t.end()
	t.work.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	if !t.flush(ctx) {
		return fmt.Errorf("the last records of thread %s were not stored", t.id)
	}
	lease := t.held()
	var err error
	select {
	case <-t.stopped:
		err = t.store.SetStatus(ctx, lease, state.StatusCancelled, nil, nil)
	default:
		_, err = t.store.Commit(ctx, state.Commit{Lease: lease, Parent: 1, WriteID: t.lineage, Step: 1, Status: state.StatusCompleted})
	}
	return errors.Join(err, t.store.Release(ctx, lease))
}
