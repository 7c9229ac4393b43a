package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

// renewing is a store whose renewals fail as they are told to.
type renewing struct {
	state.Store
	fail func(state.Lease) error
}

func (s *renewing) Renew(ctx context.Context, l state.Lease) (state.Lease, error) {
	if err := s.fail(l); err != nil {
		return state.Lease{}, err
	}
	return s.Store.Renew(ctx, l)
}

func TestAStoreThatForgotEndsTheRunWithThatAndWithoutAnotherTry(t *testing.T) {
	for _, c := range []struct {
		name string
		err  func(state.Lease) error
		is   error
	}{
		{"vanished", state.Vanished, state.ErrVanished},
		{"regressed", func(l state.Lease) error { return state.Regressed(l, "its head is 1, not 2") }, state.ErrRegressed},
	} {
		t.Run(c.name+" at a commit", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, tries := newStore(t), 0
				g := compile(t, one(graph.Node{Run: nothing}))
				_, err := g.Run(t.Context(), graph.RunOptions{Store: &failing{Store: store, commit: func(k state.Commit) error {
					tries++
					return c.err(k.Lease)
				}}})
				if !errors.Is(err, c.is) || !errors.Is(err, state.ErrLeaseLost) || tries != 1 {
					t.Fatalf("%v after %d tries", err, tries)
				}
			})
		})
		t.Run(c.name+" at a renewal", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs counter
				g := compile(t, one(graph.Node{Retry: &graph.Retry{}, Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					runs.add("n")
					<-ctx.Done()
					return graph.Update{}, context.Cause(ctx)
				}}))
				_, err := g.Run(t.Context(), graph.RunOptions{Store: &renewing{newStore(t), c.err}})
				if !errors.Is(err, c.is) || runs.of("n") != 1 {
					t.Fatalf("%v after %d runs", err, runs.of("n"))
				}
			})
		})
		t.Run(c.name+" at a hop", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent, handled counter
				g := charging(t, &sent, &handled)
				f := &refusing{Store: newStore(t), err: c.err(state.Lease{Thread: "t"})}
				_, err := g.Run(t.Context(), graph.RunOptions{Store: f, Thread: "t"})
				if !errors.Is(err, c.is) || f.tries != 1 || sent.of("charge") != 0 || handled.of("pay") != 0 {
					t.Fatalf("%v after %d tries, %d requests", err, f.tries, sent.of("charge"))
				}
			})
		})
	}
}

// refusing is a store that takes no records of one kind, until it is mended.
type refusing struct {
	state.Store
	err   error
	when  func(state.Record) bool // nil: always
	tries int
	most  int // of refusals; 0: no bound
}

func (s *refusing) PutRecords(ctx context.Context, l state.Lease, rs []state.Record) error {
	if (s.when == nil || s.when(rs[len(rs)-1])) && (s.most == 0 || s.tries < s.most) {
		s.tries++
		return s.err
	}
	return s.Store.PutRecords(ctx, l, rs)
}

func TestAStoreThatIsAwayForLongFailsNoThread(t *testing.T) {
	for name, when := range map[string]func(state.Record) bool{
		"as an intent is stored":  isIntent,
		"as an outcome is stored": isOutcome, // which is tried once more before the run ends
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent, handled counter
				g := charging(t, &sent, &handled)
				f := &refusing{Store: newStore(t), err: state.ErrUnavailable, when: when, most: 1}
				_, err := g.Run(t.Context(), graph.RunOptions{Store: f, Thread: "t"})
				if !errors.Is(err, state.ErrUnavailable) || f.tries != 1 || handled.of("pay") != 0 {
					t.Fatalf("%v after %d tries; handled %d times", err, f.tries, handled.of("pay"))
				}
				th, err := f.Thread(t.Context(), "t")
				if err != nil || th.Status != state.StatusRunning {
					t.Fatalf("thread %+v, %v; want it running, for another to take over", th, err)
				}
				wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: f}), state.StatusCompleted)
				if sent.of("charge") != 1 {
					t.Errorf("%d requests", sent.of("charge"))
				}
			})
		})
	}
}

func TestACommitToAStoreThatIsAwayIsTriedOnceAndTheResumeCommits(t *testing.T) {
	var runs counter
	store, tries := newStore(t), 0
	g := compile(t, pair(graph.Node{Run: do("a", func(context.Context, graph.Input) (any, error) { return runs.add("a"), nil })},
		graph.Node{Run: put("b", 1)}))
	_, err := g.Run(t.Context(), graph.RunOptions{Thread: "t", Store: &failing{Store: store, commit: func(state.Commit) error {
		tries++
		return state.ErrUnavailable
	}}})
	if !errors.Is(err, state.ErrUnavailable) || tries != 1 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: store}), state.StatusCompleted)
}

func TestARenewalThatOnlyStumblesKeepsTheLeaseAndOneThatHangsLosesIt(t *testing.T) {
	for name, c := range map[string]struct {
		fails int
		lost  bool
	}{
		"stumbles":                  {1, false},
		"away for half of its time": {5, false},
		"gone":                      {1 << 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails := 0
				s := &renewing{newStore(t), func(state.Lease) error {
					if fails++; fails <= c.fails {
						return state.ErrUnavailable
					}
					return nil
				}}
				begun := time.Now()
				g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					select {
					case <-time.After(time.Minute):
					case <-ctx.Done():
					}
					return graph.Update{}, ctx.Err()
				}}))
				res, err := g.Run(t.Context(), graph.RunOptions{Store: s, LeaseTTL: 9 * time.Second})
				if !c.lost {
					if err != nil || res.Status != state.StatusCompleted {
						t.Fatalf("%s, %v", res.Status, err)
					}
					return
				}
				if !errors.Is(err, state.ErrLeaseLost) || !errors.Is(err, state.ErrUnavailable) || time.Since(begun) > 9*time.Second {
					t.Fatalf("%v after %s", err, time.Since(begun))
				}
			})
		})
	}
}
