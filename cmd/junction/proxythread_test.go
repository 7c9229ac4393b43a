package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/state"
	"junction/state/memory"
)

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// safeCall records a finished safe call in a journal of the thread.
func safeCall(t *testing.T, th *proxyThread, task string) {
	t.Helper()
	j := th.Journal(task, "review", nil, nil)
	h, err := j.Begin("", "args")
	if err != nil {
		t.Fatal(err)
	}
	rec := state.Record{Attempt: 1, Capability: "review", Server: "a", Tool: "do", Effect: state.Safe, Status: state.CallSuccess, Result: []byte(`"secret"`), Final: true}
	if err := h.Outcome(t.Context(), rec, false); err != nil {
		t.Fatal(err)
	}
	h.Close()
	th.Keep(j)
}

func TestAProxysCallsAreOnRecordWithoutTheirResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		th, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			safeCall(t, th, fmt.Sprintf("call-%d", n))
		}
		<-time.After(time.Hour) // the lease is renewed all the while
		safeCall(t, th, "call-last")
		if err := th.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		rs, err := store.Records(t.Context(), state.RecordFilter{Thread: th.id})
		if err != nil || len(rs) != 4 {
			t.Fatalf("%d records, %v", len(rs), err)
		}
		for _, r := range rs {
			if r.Result != nil || r.Node != "review" {
				t.Errorf("%+v", r)
			}
		}
		if got, err := store.Thread(t.Context(), th.id); err != nil || got.Status != state.StatusCompleted || got.Workflow != "proxy" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestTheThreadOfAProxyThatDiedIsClosedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		dead, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		dead.end() // without a word
		dead.work.Wait()
		status := func(th *proxyThread) state.Status {
			got, err := store.Thread(t.Context(), th.id)
			if err != nil {
				t.Fatal(err)
			}
			return got.Status
		}
		next, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		if s := status(dead); s != state.StatusRunning {
			t.Errorf("while its lease runs it is %s", s)
		}
		<-time.After(proxyLease + time.Second)
		last, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		if status(dead) != state.StatusFailed || status(next) != state.StatusRunning {
			t.Errorf("the dead one is %s, the living one %s", status(dead), status(next))
		}
		for _, th := range []*proxyThread{next, last} {
			if err := th.close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSomebodyMayAskForAProxysEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		th, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.RequestCancel(t.Context(), th.id); err != nil {
			t.Fatal(err)
		}
		select {
		case <-th.stopped:
		case <-time.After(proxyLease):
			t.Fatal("it does not hear of it")
		}
		if err := th.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Thread(t.Context(), th.id); err != nil || got.Status != state.StatusCancelled {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// flaky is a store that is away at times.
type flaky struct {
	state.Store
	away atomic.Bool
}

var errAway = errors.New("the store is away")

func (f *flaky) PutRecords(ctx context.Context, l state.Lease, rs []state.Record) error {
	if f.away.Load() {
		return errAway
	}
	return f.Store.PutRecords(ctx, l, rs)
}

func (f *flaky) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	if f.away.Load() {
		return state.Lease{}, errAway
	}
	return f.Store.Renew(ctx, l)
}

func TestAStoreThatIsAwayCostsAProxyNoSafeCallAndNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{Store: memory.New(nil)}
		th, err := openProxyThread(t.Context(), store, silent())
		if err != nil {
			t.Fatal(err)
		}
		store.away.Store(true)
		for n := range mostUnstored + 100 {
			safeCall(t, th, fmt.Sprintf("call-%d", n))
		}
		<-time.After(time.Minute) // past the lease
		th.mu.Lock()
		if n := len(th.waiting); n > mostUnstored {
			t.Errorf("%d records wait", n)
		}
		th.mu.Unlock()
		j := th.Journal("pay", "pay", nil, nil)
		h, err := j.Begin("", "args")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Intent(t.Context(), state.Record{Attempt: 1, Effect: state.Unsafe}); !errors.Is(err, errAway) {
			t.Errorf("an intent that is not durable: %v", err)
		}
		h.Close()
		store.away.Store(false)
		<-time.After(2 * proxyLease)
		if err := j.MaySend(); err != nil {
			t.Errorf("the store is back: %v", err)
		}
		if err := th.close(t.Context()); err != nil {
			t.Fatal(err)
		}
		rs, err := store.Records(t.Context(), state.RecordFilter{Thread: th.id})
		if err != nil || len(rs) != mostUnstored {
			t.Errorf("%d records are stored, %v", len(rs), err)
		}
	})
}

func TestStderrThatNobodyReadsHoldsUpNothing(t *testing.T) {
	stuck := make(chan struct{})
	a := newAside(blocked{stuck})
	begun := time.Now()
	for range 10 * asideLines {
		if _, err := a.Write([]byte("a line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took > 10*time.Second || a.dropped.Load() == 0 {
		t.Errorf("%s, %d dropped", took, a.dropped.Load())
	}
	close(stuck)
	a.close()
}

type blocked struct{ until chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.until
	return len(p), nil
}
