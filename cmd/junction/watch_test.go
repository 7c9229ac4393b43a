package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state"
	"junction/state/memory"
)

// absent is a store that cannot be read for a while.
type absent struct {
	state.Store
	away atomic.Bool
}

func (a *absent) Threads(ctx context.Context, f state.ThreadFilter) ([]state.Thread, error) {
	if a.away.Load() {
		return nil, errors.New("connection refused")
	}
	return a.Store.Threads(ctx, f)
}

func TestAFollowedListTellsEachChangeOnceAndOutlivesAnAbsentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &absent{Store: memory.New(nil)}
		ctx, stop := context.WithCancel(t.Context())
		var out, errs bytes.Buffer
		done := make(chan error, 1)
		go func() { done <- (&threadsCmd{Limit: 50}).watch(ctx, store, console{out: &out, err: &errs}) }()
		step := func() { // the list is read again, and shown
			<-time.After(watchEvery)
			synctest.Wait()
		}
		if _, err := store.CreateThread(ctx, state.NewThread{ID: "t", Workflow: "w"}); err != nil {
			t.Fatal(err)
		}
		step()
		step()
		l, err := store.Acquire(ctx, "t", "me", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		store.away.Store(true)
		step()
		step()
		store.away.Store(false)
		if err := errors.Join(
			store.PutInterrupt(ctx, l, 1, state.Interrupt{ID: "q", Node: "gate", Value: json.RawMessage(`"Go on?"`)}, nil),
			store.SetStatus(ctx, l, state.StatusInterrupted, nil, nil),
		); err != nil {
			t.Fatal(err)
		}
		step()
		step()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []string{"t  w  pending  step 0", "t  w  interrupted  step 0", `? q  gate: "Go on?"`}
		got := strings.Split(strings.TrimSpace(regexp.MustCompile(`(?m)^(\d\d:\d\d:\d\d)?  `).ReplaceAllString(out.String(), "")), "\n")
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if n := strings.Count(errs.String(), "connection refused"); n != 1 {
			t.Errorf("the store's absence was told %d times:\n%s", n, errs.String())
		}
	})
}
