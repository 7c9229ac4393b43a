package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/state"
)

// failing is a store that refuses records until it is mended.
type failing struct {
	state.RecordStore
	broken bool
}

func (f *failing) PutRecords(ctx context.Context, l state.Lease, rs []state.Record) error {
	if f.broken {
		return errors.New("disk on fire")
	}
	return f.RecordStore.PutRecords(ctx, l, rs)
}

func TestNothingIsLostWhenTheStoreFails(t *testing.T) {
	j := newJournaled(t)
	f := &failing{RecordStore: j.store, broken: true}
	j.Journal = state.NewJournal(scope, state.JournalOptions{Store: f, Lease: func() state.Lease { return j.lease }})
	safe := begin(t, j.Journal, "safe")
	check(t, safe.Outcome(t.Context(), ended(attempt(1, state.Safe), state.CallSuccess, "", true), false))
	unsent := begin(t, j.Journal, "unsent")
	if err := unsent.Intent(t.Context(), attempt(1, state.Unsafe)); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Fatalf("intent: error is %v", err)
	}
	done := begin(t, j.Journal, "done")
	if err := done.Outcome(t.Context(), ended(attempt(1, state.Unsafe), state.CallSuccess, "", true), true); err == nil {
		t.Fatal("outcome: no error")
	}

	j.again(j.Known()) // the node runs again in this process
	if n := len(begin(t, j.Journal, "unsent").Prior()); n != 0 {
		t.Error("an intent that was not stored, and so not sent, counts as an unknown outcome")
	}
	if _, replays := begin(t, j.Journal, "done").Replay(); !replays {
		t.Error("an outcome is forgotten because it could not be stored")
	}

	j.Journal = state.NewJournal(scope, state.JournalOptions{Store: f, Lease: func() state.Lease { return j.lease }})
	check(t, begin(t, j.Journal, "safe").Outcome(t.Context(), ended(attempt(1, state.Safe), state.CallSuccess, "", true), false))
	if err := begin(t, j.Journal, "done").Outcome(t.Context(), ended(attempt(1, state.Unsafe), state.CallSuccess, "", true), true); err == nil {
		t.Fatal("outcome: no error")
	}
	f.broken = false
	check(t, begin(t, j.Journal, "next").Intent(t.Context(), attempt(1, state.Unsafe)))
	if n := len(j.stored(t)); n != 3 {
		t.Errorf("%d records are stored after the store was mended, want 3", n)
	}
}

func TestJournalSharesNoMemoryWithItsCallers(t *testing.T) {
	j := newJournaled(t)
	result := json.RawMessage(`"done"`)
	r := ended(attempt(1, state.Safe), state.CallSuccess, "", true)
	r.Result = result
	check(t, begin(t, j.Journal, "k").Outcome(t.Context(), r, false))
	result[1] = 'X'
	known := j.Known()
	j.again(known)
	known[0].Result[1] = 'X'
	h := begin(t, j.Journal, "k")
	got, _ := h.Replay()
	got.Result[1] = 'X'
	if got, _ = h.Replay(); string(got.Result) != `"done"` {
		t.Errorf("result is %s", got.Result)
	}
}

func TestNamedHopsAtOnceAreAllRecorded(t *testing.T) {
	j := newJournaled(t)
	var wg sync.WaitGroup
	const hops = 40
	for i := range hops {
		wg.Go(func() {
			h, err := j.Begin(fmt.Sprint("k", i), "args")
			if err != nil {
				t.Error(err)
				return
			}
			defer h.Close()
			effect, durable := state.Unsafe, true
			if i%2 == 0 {
				effect, durable = state.Safe, false
			}
			if durable {
				err = h.Intent(t.Context(), attempt(1, effect))
			}
			if err := errors.Join(err, h.Outcome(t.Context(), ended(attempt(1, effect), state.CallSuccess, "", true), durable)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(j.stored(t)) + len(j.Take()); n != hops {
		t.Errorf("%d records are stored or wait, want %d", n, hops)
	}
	if n := len(j.Known()); n != hops {
		t.Errorf("%d records are known, want %d", n, hops)
	}
}

func TestNothingIsSentAfterTheLeaseMayHaveRunOut(t *testing.T) {
	until := time.Now().Add(time.Hour)
	j := state.NewJournal(scope, state.JournalOptions{Lease: func() state.Lease { return state.Lease{Until: until} }})
	if err := j.MaySend(); err != nil {
		t.Errorf("within the lease: %v", err)
	}
	until = time.Now().Add(-time.Nanosecond)
	if err := j.MaySend(); !errors.Is(err, state.ErrLeaseLost) {
		t.Errorf("after it: %v", err)
	}
	if err := state.NewJournal(scope, state.JournalOptions{}).MaySend(); err != nil {
		t.Errorf("without a lease: %v", err)
	}
}
