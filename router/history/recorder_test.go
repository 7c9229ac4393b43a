package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"junction/router"
	"junction/state"
	"junction/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fine     = router.OutcomeInfo{Status: state.CallSuccess}
	refused  = router.OutcomeInfo{Status: state.CallError, Code: router.Transport, Execution: state.NotExecuted}
	tooSlow  = router.OutcomeInfo{Status: state.CallTimeout, Code: router.Timeout, Message: "maximum clock: no answer within 2s"}
	ownFault = router.OutcomeInfo{Status: state.CallTimeout, Code: router.Timeout, Message: "caller clock: its time was over"}
	stopped  = router.OutcomeInfo{Status: state.CallCancelled, Code: router.Cancelled}
	denied   = router.OutcomeInfo{Status: state.CallError, Code: router.AuthMismatch, Execution: state.NotExecuted}
	quota    = router.OutcomeInfo{Status: state.CallSuccess, IsError: true}
)

func tell(r *Recorder, server string, outcomes ...router.OutcomeInfo) {
	for _, o := range outcomes {
		r.OnOutcome(router.HopInfo{Capability: "code-review"}, router.AttemptInfo{Server: server}, o)
	}
}

// counted is a store that counts writes and fails when told to.
type counted struct {
	*memory.Store
	mu     sync.Mutex
	writes int
	fails  error
}

func (c *counted) PutHealth(ctx context.Context, samples []state.HealthSample) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if c.fails != nil {
		return c.fails
	}
	return c.Store.PutHealth(ctx, samples)
}

func (c *counted) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = err
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

func all(t *testing.T, s state.HealthStore) []state.HealthSample {
	t.Helper()
	kept, err := s.Health(t.Context(), "", time.Time{}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func shut(t *testing.T, r *Recorder) {
	t.Helper()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAMinuteIsWrittenOnceItIsOverAndAgainNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New(nil)}
		r := New(store, &Options{Worker: "w", Readings: func() []Reading {
			return []Reading{{Server: "a", Capability: "code-review", Score: 0.25, P95: time.Second, InFlight: 3, Ejected: true, Probe: "no answer"}}
		}})
		minute := time.Now().UTC().Truncate(time.Minute)
		tell(r, "a", fine, refused, refused, tooSlow, quota, ownFault, stopped, denied)
		<-time.After(90 * time.Second) // virtual
		want := []state.HealthSample{{
			Server: "a", Capability: "code-review", Worker: "w", Minute: minute, Calls: 5, Failures: 3, ToolErrors: 1,
			Codes: map[string]int{"MCP_TRANSPORT": 2, "MCP_TIMEOUT": 1, "MCP_AUTH_MISMATCH": 1},
			P95:   time.Second, InFlight: 3, Score: 0.25, Ejected: true, Probe: "no answer",
		}}
		if d := cmp.Diff(want, all(t, store)); d != "" {
			t.Error(d)
		}
		if n := store.count(); n != 1 {
			t.Errorf("%d writes", n)
		}
		shut(t, r)
	})
}

func TestWhatIsLeftIsWrittenAtTheClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		r := New(store, nil)
		tell(r, "a", fine)
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		tell(r, "a", fine, refused)
		shut(t, r)
		shut(t, r)
		kept := all(t, store)
		if len(kept) != 1 || kept[0].Calls != 3 || kept[0].Failures != 1 || kept[0].Score != 1 || kept[0].Worker == "" {
			t.Errorf("kept: %+v", kept)
		}
		if err := r.Flush(t.Context()); err == nil {
			t.Error("a closed recorder was flushed")
		}
	})
}

func TestAServerInOrderWithNothingToDoGetsNoSampleAndOneInTroubleDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		r := New(store, &Options{Readings: func() []Reading {
			return []Reading{
				{Server: "idle", Score: 1, Probe: "ok"}, {Server: "busy", Score: 1, InFlight: 1},
				{Server: "out", Ejected: true}, {Server: "hung", Score: 1, Probe: "no answer within 5s"},
			}
		}})
		shut(t, r)
		var servers []string
		for _, h := range all(t, store) {
			servers = append(servers, h.Server)
		}
		if d := cmp.Diff([]string{"busy", "hung", "out"}, servers); d != "" {
			t.Error(d)
		}
	})
}

func TestAnOutageOfTheStoreIsSaidOnceAndWhatWasCountedFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New(nil)}
		var log bytes.Buffer
		r := New(store, &Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		store.fail(errors.New("nobody is there"))
		tell(r, "a", fine)
		<-time.After(5 * time.Minute)
		tell(r, "a", refused)
		store.fail(nil)
		<-time.After(2 * time.Minute)
		kept := all(t, store)
		if len(kept) != 2 || kept[0].Calls != 1 || kept[1].Failures != 1 {
			t.Errorf("kept: %+v", kept)
		}
		shut(t, r)
		if n := strings.Count(log.String(), "could not be stored"); n != 1 || !strings.Contains(log.String(), "stored again") {
			t.Errorf("the log says it %d times:\n%s", n, log.String())
		}
	})
}

func TestWhatWaitsForAStoreThatStaysAwayIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New(nil)}
		store.fail(errors.New("nobody is there"))
		var log bytes.Buffer
		r := New(store, &Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		for range 40 {
			for n := range 200 {
				tell(r, fmt.Sprint("s", n), fine)
			}
			<-time.After(time.Minute)
		}
		holds := func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.counts.by)
		}
		held := holds()
		if held > mostSeries || held > (mostMinutes+1)*200 {
			t.Errorf("%d are held", held)
		}
		if n := strings.Count(log.String(), "gaps"); n != 1 {
			t.Errorf("the log tells of gaps %d times", n)
		}
		for n := range 2 * mostSeries {
			tell(r, fmt.Sprint("other", n), fine)
		}
		if held = holds(); held != mostSeries {
			t.Errorf("%d are held", held)
		}
		if err := r.Close(t.Context()); err == nil {
			t.Error("what could not be written was no error")
		}
	})
}

func TestAStoreThatHangsHoldsUpNoHop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(hung{}, nil)
		tell(r, "a", fine)
		<-time.After(70 * time.Second) // a write is under way, or was given up
		begun := time.Now()
		tell(r, "a", fine)
		if time.Since(begun) > 0 {
			t.Error("a hop waited")
		}
		if err := r.Close(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
	})
}

type hung struct{ state.HealthStore }

func (hung) PutHealth(ctx context.Context, _ []state.HealthSample) error {
	<-ctx.Done()
	return ctx.Err()
}
