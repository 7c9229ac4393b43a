package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

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

// follow runs the list on a store until the test has done what it does.
func follow(t *testing.T, store state.Store, con console, do func(step func())) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- (&threadsCmd{Limit: 50}).watch(ctx, store, con) }()
	do(func() { <-time.After(watchEvery); synctest.Wait() })
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAFollowedListTellsOnceOfAThreadThatLeftTheStoreBeforeItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		for _, id := range []string{"lost", "kept"} {
			if _, err := store.CreateThread(t.Context(), state.NewThread{ID: id, Workflow: "w"}); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		follow(t, store, console{out: &out, err: &errs}, func(step func()) {
			step()
			if err := store.DeleteThread(t.Context(), "lost"); err != nil {
				t.Fatal(err)
			}
			step()
			step()
		})
		if want := "junction: thread lost " + noMore + "\n"; errs.String() != want {
			t.Errorf("stderr is %q, want %q", errs.String(), want)
		}
	})
}

func TestAFollowedListStaysWithinTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		for n := range 30 {
			if _, err := store.CreateThread(t.Context(), state.NewThread{ID: fmt.Sprintf("%02d-%s", n, strings.Repeat("x", 60)), Workflow: "w"}); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		con := console{out: &out, err: &errs, color: true, size: func() (int, int) { return 40, 12 }}
		follow(t, store, con, func(step func()) { step() })
		_, page, _ := strings.Cut(out.String(), "\x1b[2J")
		page, _, _ = strings.Cut(page, "\x1b")
		lines := strings.Split(page, "\n")
		if len(lines) > 12 {
			t.Errorf("a page has %d rows on a terminal of 12:\n%s", len(lines), page)
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > 40 {
				t.Errorf("a row has %d columns on a terminal of 40: %q", n, l)
			}
		}
		if want := "… and 23 more lines"; !strings.Contains(page, want) {
			t.Errorf("%q is missing in:\n%s", want, page)
		}
	})
}
