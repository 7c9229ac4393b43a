package statetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"junction/state"
)

// RunShares checks the contract of a store of shares. Open is called once for each
// theme, gives an empty one, and closes it with t.Cleanup.
func RunShares(t *testing.T, open func(t *testing.T) state.ShareStore) {
	for _, theme := range []struct {
		name string
		test func(t *testing.T, s state.ShareStore)
	}{
		{"workers see each other's shares and not their own", sharesSeen},
		{"what a worker stores takes the place of what it stored", sharesReplaced},
		{"shares age on the store's clock and are gone after their time", sharesFade},
		{"a worker without shares counts", sharesNone},
		{"names have any characters", sharesNames},
		{"a large fleet is seen by samples", sharesSampled},
		{"what makes no sense is refused", sharesRefused},
		{"a context that has ended ends the exchange", sharesCancelled},
		{"stored shares are not the caller's", sharesAliasing},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.test(t, open(t)) })
	}
}

// exchange returns the others' shares, by worker, each younger than a minute.
func exchange(t *testing.T, s state.ShareStore, worker string, keep time.Duration, own ...state.Share) map[string][]state.Share {
	t.Helper()
	all, err := s.Exchange(t.Context(), worker, own, keep)
	must(t, err)
	got := map[string][]state.Share{}
	for i, each := range all {
		if i > 0 && all[i-1].Worker >= each.Worker {
			t.Errorf("worker %q comes after %q", each.Worker, all[i-1].Worker)
		}
		if each.Age < 0 || each.Age > long {
			t.Errorf("shares of %s are %v old", each.Worker, each.Age)
		}
		if each.Others < len(all) {
			t.Errorf("%d others, and %d came", each.Others, len(all))
		}
		got[each.Worker] = each.Shares
	}
	return got
}

func sharesSeen(t *testing.T, s state.ShareStore) {
	a := []state.Share{{Server: "lint", InFlight: 3, Failures: 1, Calls: 9}, {Server: "review", Ejected: 2 * time.Second}}
	b := []state.Share{{Server: "lint", InFlight: 5}}
	equal(t, "seen by the first", exchange(t, s, "a", long, a...), map[string][]state.Share{})
	equal(t, "seen by the second", exchange(t, s, "b", long, b...), map[string][]state.Share{"a": a})
	equal(t, "seen by the first again", exchange(t, s, "a", long, a...), map[string][]state.Share{"b": b})
	equal(t, "seen by a third", exchange(t, s, "c", long), map[string][]state.Share{"a": a, "b": b})
}

func sharesReplaced(t *testing.T, s state.ShareStore) {
	exchange(t, s, "a", long, state.Share{Server: "lint", InFlight: 3}, state.Share{Server: "review", InFlight: 1})
	exchange(t, s, "a", long, state.Share{Server: "lint", InFlight: 4})
	equal(t, "seen", exchange(t, s, "b", long), map[string][]state.Share{"a": {{Server: "lint", InFlight: 4}}})
}

func sharesFade(t *testing.T, s state.ShareStore) {
	exchange(t, s, "lasting", long, state.Share{Server: "lint", InFlight: 1})
	exchange(t, s, "brief", short, state.Share{Server: "lint", InFlight: 3}) // the younger one
	age := time.Duration(0)
	eventually(t, "the shares of the one are gone", func() bool {
		all, err := s.Exchange(t.Context(), "reader", nil, long)
		must(t, err)
		if len(all) == 0 || all[len(all)-1].Worker != "lasting" {
			t.Fatalf("got %+v, want the lasting worker among them", all)
		}
		if now := all[len(all)-1].Age; now < age {
			t.Fatalf("shares were %v old, now they are %v", age, now)
		} else {
			age = now
		}
		return len(all) == 1
	})
	if age < short {
		t.Errorf("the shares of the other are %v old, want %v at least", age, short)
	}
}

func sharesNone(t *testing.T, s state.ShareStore) {
	exchange(t, s, "a", long)
	got := exchange(t, s, "b", long)
	if shares, there := got["a"]; !there || len(shares) != 0 {
		t.Errorf("seen: %v, want a worker without shares", got)
	}
}

func sharesNames(t *testing.T, s state.ShareStore) {
	want := map[string][]state.Share{}
	for _, name := range []string{"{fleet}", "a b\nc", "ü/%41", "1e3", "-inf", `"quoted"`} {
		want[name] = []state.Share{{Server: name, InFlight: 1}}
		exchange(t, s, name, long, want[name]...)
	}
	equal(t, "seen", exchange(t, s, "reader", long), want)
}

func sharesSampled(t *testing.T, s state.ShareStore) {
	const n = 3 * state.MostSharers
	for i := range n {
		exchange(t, s, fmt.Sprintf("w%03d", i), long, state.Share{Server: "lint", InFlight: i + 1})
	}
	seen := map[string]bool{}
	for i := 0; len(seen) < n && i < 500; i++ {
		all, err := s.Exchange(t.Context(), "reader", nil, long)
		must(t, err)
		if len(all) != state.MostSharers {
			t.Fatalf("shares of %d workers came, want %d", len(all), state.MostSharers)
		}
		for _, each := range all {
			if each.Others != n || each.Worker == "reader" {
				t.Fatalf("got %+v, want one of %d others", each, n)
			}
			seen[each.Worker] = true
		}
	}
	if len(seen) < n {
		t.Errorf("%d of %d workers were ever seen", len(seen), n)
	}
}

func sharesRefused(t *testing.T, s state.ShareStore) {
	many := make([]state.Share, state.MostShares+1)
	for i := range many {
		many[i].Server = fmt.Sprintf("s%03d", i)
	}
	for what, call := range map[string]func() error{
		"no name":  func() error { _, err := s.Exchange(t.Context(), "", nil, long); return err },
		"no time":  func() error { _, err := s.Exchange(t.Context(), "a", nil, 0); return err },
		"too many": func() error { _, err := s.Exchange(t.Context(), "a", many, long); return err },
	} {
		if call() == nil {
			t.Errorf("%s: nothing was wrong", what)
		}
	}
	equal(t, "seen", exchange(t, s, "b", long), map[string][]state.Share{})
	exchange(t, s, "a", long, many[:state.MostShares]...)
	equal(t, "seen of the most there may be", exchange(t, s, "b", long), map[string][]state.Share{"a": many[:state.MostShares]})
}

func sharesCancelled(t *testing.T, s state.ShareStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Exchange(ctx, "a", nil, long); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the context's", err)
	}
	equal(t, "seen", exchange(t, s, "b", long), map[string][]state.Share{})
}

func sharesAliasing(t *testing.T, s state.ShareStore) {
	own := []state.Share{{Server: "lint", InFlight: 3}}
	_, err := s.Exchange(t.Context(), "a", own, long)
	must(t, err)
	own[0].InFlight = 9
	got := exchange(t, s, "b", long)
	got["a"][0].InFlight = 8
	equal(t, "seen", exchange(t, s, "b", long), map[string][]state.Share{"a": {{Server: "lint", InFlight: 3}}})
}
