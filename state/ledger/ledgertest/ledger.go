package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"junction/state/ledger"
)

var errEffect = errors.New("the upstream said no")

func replay(t *testing.T, connect connector) {
	a, b := newLedger(t, connect(t), ledger.Options{}), newLedger(t, connect(t), ledger.Options{})
	key := newKey()
	var told ledger.Run
	first, err := a.Do(t.Context(), call(key), func(_ context.Context, r ledger.Run) (any, error) {
		told = r
		return map[string]any{"n": 1, "list": []int{1, 2}}, nil
	})
	must(t, err)
	if first.Replayed || first.Executions != 1 || string(first.Result) != `{"list":[1,2],"n":1}` || first.Receipt == "" {
		t.Errorf("first: %+v", first)
	}
	if told != (ledger.Run{Key: key, Receipt: first.Receipt}) {
		t.Errorf("the effect was told %+v", told)
	}
	for _, l := range []*ledger.Ledger{a, b} {
		got, err := l.Do(t.Context(), call(key), never(t))
		must(t, err)
		if !got.Replayed || got.Executions != 1 || got.Receipt != first.Receipt || string(got.Result) != string(first.Result) {
			t.Errorf("again: %+v", got)
		}
	}
}

func mismatch(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{Place: ledger.Idempotent})
	done, live, stale := newKey(), newKey(), newKey()
	_, err := l.Do(t.Context(), call(done), gives(1))
	must(t, err)
	take(t, s, claim(live, "a", ample), true)
	take(t, s, claim(stale, "a", brief), true)
	ended(t, s, stale)
	for _, key := range []string{done, live, stale} {
		_, err := l.Do(t.Context(), ledger.Call{Key: key, Fingerprint: "another"}, never(t))
		wantErr(t, err, ledger.ErrMismatch)
		if about, ok := errors.AsType[*ledger.KeyError](err); !ok || about.Key != key || about.Receipt == "" || about.Since.IsZero() {
			t.Errorf("%+v", err)
		}
	}
}

func failure(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{})
	key := newKey()
	_, err := l.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) { return nil, errEffect })
	wantErr(t, err, errEffect)
	if errors.Is(err, ledger.ErrUnknown) {
		t.Errorf("what failed for certain is unknown: %v", err)
	}
	_, err = l.Find(t.Context(), key)
	wantErr(t, err, ledger.ErrNotFound)
	// Free for other arguments, too: nothing bound it.
	if a, err := l.Do(t.Context(), ledger.Call{Key: key, Fingerprint: "another"}, gives(2)); err != nil || a.Replayed {
		t.Errorf("%+v, %v", a, err)
	}
}

func refusal(t *testing.T, connect connector) {
	l := newLedger(t, connect(t), ledger.Options{})
	key := newKey()
	for n := range 2 {
		a, err := l.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) {
			return nil, fmt.Errorf("sold out: %w", &ledger.RefusedError{Result: "none left"})
		})
		if err != nil || string(a.Result) != `"none left"` || a.Replayed != (n > 0) {
			t.Errorf("answer %d: %+v, %v", n, a, err)
		}
	}
}

func inProgress(t *testing.T, connect connector) {
	one, other := connect(t), connect(t)
	o := ledger.Options{Wait: -1}
	a, b := newLedger(t, one, o), newLedger(t, other, o)
	patient := newLedger(t, other, ledger.Options{Wait: soon})
	key := newKey()
	begun, finish := make(chan struct{}), make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := a.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) {
			close(begun)
			<-finish
			return "done", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	for name, l := range map[string]*ledger.Ledger{"the same connection": a, "another": b} {
		if _, err := l.Do(t.Context(), call(key), never(t)); !errors.Is(err, ledger.ErrInProgress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	if _, err := patient.Do(ctx, call(key), never(t)); !errors.Is(err, ledger.ErrInProgress) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for a while: %v", err)
	}
	for range 3 {
		calls.Go(func() {
			if got, err := patient.Do(t.Context(), call(key), never(t)); err != nil || !got.Replayed {
				t.Errorf("who waits: %+v, %v", got, err)
			}
		})
	}
	close(finish)
	calls.Wait()
}

func unsure(t *testing.T, connect connector) {
	l := newLedger(t, connect(t), ledger.Options{})
	doubt := func(context.Context, ledger.Run) (any, error) { return nil, errors.Join(errEffect, ledger.ErrUnsure) }
	happened, not := newKey(), newKey()
	for _, key := range []string{happened, not} {
		_, err := l.Do(t.Context(), call(key), doubt)
		wantErr(t, err, ledger.ErrUnknown)
		wantErr(t, err, errEffect)
		_, err = l.Do(t.Context(), call(key), never(t))
		wantErr(t, err, ledger.ErrUnknown)
	}
	must(t, l.Settle(t.Context(), happened, ledger.Verdict{Outcome: ledger.Happened, Result: "it did"}))
	must(t, l.Settle(t.Context(), not, ledger.Verdict{Outcome: ledger.Never}))
	if a, err := l.Do(t.Context(), call(happened), never(t)); err != nil || string(a.Result) != `"it did"` || !a.Replayed {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := l.Do(t.Context(), call(not), gives("now")); err != nil || a.Replayed {
		t.Errorf("%+v, %v", a, err)
	}
	if err := l.Settle(t.Context(), happened, ledger.Verdict{Outcome: ledger.Never}); err == nil {
		t.Error("a committed key was freed")
	}
	wantErr(t, l.Settle(t.Context(), newKey(), ledger.Verdict{Outcome: ledger.Never}), ledger.ErrNotFound)
}

func abandoned(t *testing.T, connect connector) {
	l := newLedger(t, connect(t), ledger.Options{})
	lost, kept := newKey(), newKey()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.Do(ctx, call(lost), func(ctx context.Context, _ ledger.Run) (any, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	wantErr(t, err, ledger.ErrUnknown)
	_, err = l.Do(t.Context(), call(lost), never(t))
	wantErr(t, err, ledger.ErrUnknown)

	ctx, cancel = context.WithCancel(t.Context())
	_, err = l.Do(ctx, call(kept), func(context.Context, ledger.Run) (any, error) {
		cancel() // too late: it happened
		return "happened", nil
	})
	must(t, err)
	if a, err := l.Do(t.Context(), call(kept), never(t)); err != nil || string(a.Result) != `"happened"` {
		t.Errorf("%+v, %v", a, err)
	}
}

func panicked(t *testing.T, connect connector) {
	l := newLedger(t, connect(t), ledger.Options{})
	key := newKey()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		l.Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) { panic("a fault of the effect") }) //nolint:errcheck // it panics
	}()
	_, err := l.Do(t.Context(), call(key), never(t))
	wantErr(t, err, ledger.ErrUnknown)
}

func long(t *testing.T, connect connector) {
	a := newLedger(t, connect(t), ledger.Options{Place: ledger.Idempotent, Lease: 300 * time.Millisecond})
	b := newLedger(t, connect(t), ledger.Options{Place: ledger.Idempotent, Lease: 300 * time.Millisecond, Wait: -1})
	key := newKey()
	got, err := a.Do(t.Context(), call(key), func(ctx context.Context, _ ledger.Run) (any, error) {
		for over := time.After(900 * time.Millisecond); ; {
			if _, err := b.Do(t.Context(), call(key), never(t)); !errors.Is(err, ledger.ErrInProgress) {
				t.Errorf("while it runs: %v", err)
			}
			select {
			case <-over:
				return "done", ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	if err != nil || got.Replayed {
		t.Errorf("%+v, %v", got, err)
	}
}

func unstorable(t *testing.T, connect connector) {
	l := newLedger(t, connect(t), ledger.Options{Limit: 100})
	for _, result := range []any{strings.Repeat("x", 101), make(chan int)} {
		key := newKey()
		_, err := l.Do(t.Context(), call(key), gives(result))
		wantErr(t, err, ledger.ErrUnknown)
		_, err = l.Do(t.Context(), call(key), never(t))
		wantErr(t, err, ledger.ErrUnknown)
	}
}

func secrets(t *testing.T, connect connector) {
	s := connect(t)
	l := newLedger(t, s, ledger.Options{
		Secrets: []string{"card.number", "items[*].token"},
		Strip: func(v any) (any, error) {
			delete(v.(map[string]any), "trace")
			return v, nil
		},
	})
	key := newKey()
	result := map[string]any{
		"card":  map[string]any{"number": "4111111111111111", "brand": "visa"},
		"items": []any{map[string]any{"token": "s3cr3t", "sku": "a"}, map[string]any{"token": 987654}},
		"trace": "s3cr3t",
	}
	const want = `{"card":{"brand":"visa","number":"[redacted]"},"items":[{"sku":"a","token":"[redacted]"},{"token":"[redacted]"}]}`
	for range 2 {
		a, err := l.Do(t.Context(), call(key), gives(result))
		if err != nil || string(a.Result) != want {
			t.Errorf("%s, %v", a.Result, err)
		}
	}
	if e, err := s.Find(t.Context(), key); err != nil || string(e.Result) != want {
		t.Errorf("stored: %s, %v", e.Result, err)
	}
	if result["trace"] != "s3cr3t" || result["card"].(map[string]any)["number"] != "4111111111111111" {
		t.Error("the effect's own value was changed")
	}
}

func race(t *testing.T, connect connector) {
	ledgers := []*ledger.Ledger{
		newLedger(t, connect(t), ledger.Options{Wait: soon}), newLedger(t, connect(t), ledger.Options{Wait: soon}),
	}
	for range 10 {
		key := newKey()
		var runs atomic.Int32
		var calls sync.WaitGroup
		barrier := make(chan struct{})
		receipts := make([]string, 8)
		for i := range receipts {
			calls.Go(func() {
				<-barrier
				a, err := ledgers[i%2].Do(t.Context(), call(key), func(context.Context, ledger.Run) (any, error) {
					return runs.Add(1), nil
				})
				if err != nil || string(a.Result) != "1" {
					t.Errorf("%s, %v", a.Result, err)
				}
				receipts[i] = a.Receipt
			})
		}
		close(barrier)
		calls.Wait()
		for _, r := range receipts {
			if r != receipts[0] || r == "" {
				t.Fatalf("receipts %v", receipts)
			}
		}
		if runs.Load() != 1 {
			t.Fatalf("%d runs", runs.Load())
		}
	}
}
