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

// hooked is a store with something that happens around its lease operations.
type hooked struct {
	state.Store
	acquire func(next func() (state.Lease, error)) (state.Lease, error)
	release func(next func() error) error
}

func (s *hooked) Acquire(ctx context.Context, thread, owner string, ttl time.Duration) (state.Lease, error) {
	next := func() (state.Lease, error) { return s.Store.Acquire(ctx, thread, owner, ttl) }
	if s.acquire == nil {
		return next()
	}
	return s.acquire(next)
}

func (s *hooked) Release(ctx context.Context, l state.Lease) error {
	next := func() error { return s.Store.Release(ctx, l) }
	if s.release == nil {
		return next()
	}
	return s.release(next)
}

// dead leaves a thread, created and held by somebody who died in the middle.
func dead(t *testing.T, g *graph.Graph, s state.Store) {
	t.Helper()
	if _, err := g.Create(t.Context(), graph.RunOptions{Store: s, Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), "t", "dead", time.Second)
	if err == nil {
		err = s.SetStatus(t.Context(), l, state.StatusRunning, nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ends checks that the thread was cancelled before anything of it ran.
func ends(t *testing.T, s state.Store, runs *counter, res graph.Result, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, res, state.StatusCancelled)
	th, err := s.Thread(t.Context(), "t")
	if err != nil || th.Status != state.StatusCancelled || th.Failure == nil || !errors.Is(res.Err, graph.ErrCancelRequested) {
		t.Errorf("thread %+v, %v; result %+v", th, err, res)
	}
	if n := runs.of("ask"); n != 0 {
		t.Errorf("it ran %d times", n)
	}
}

// TestACancelThatItsHolderDidNotLiveToHeedIsCarriedOut lets the request and the
// end of the dead holder's lease fall wherever they can.
func TestACancelThatItsHolderDidNotLiveToHeedIsCarriedOut(t *testing.T) {
	queued := func(s state.Store) graph.RunOptions { return graph.RunOptions{Store: s, Queued: true} }
	for name, play := range map[string]func(t *testing.T, g *graph.Graph, s state.Store) (graph.Result, error){
		"before the thread is read": func(t *testing.T, g *graph.Graph, s state.Store) (graph.Result, error) {
			dead(t, g, s)
			err := s.RequestCancel(t.Context(), "t")
			<-time.After(2 * time.Second)
			if err != nil {
				return graph.Result{}, err
			}
			return g.Resume(t.Context(), "t", queued(s))
		},
		"between the thread's read and its lease": func(t *testing.T, g *graph.Graph, s state.Store) (graph.Result, error) {
			dead(t, g, s)
			return g.Resume(t.Context(), "t", queued(&hooked{Store: s, acquire: func(next func() (state.Lease, error)) (state.Lease, error) {
				err := s.RequestCancel(t.Context(), "t")
				<-time.After(2 * time.Second)
				if err != nil {
					return state.Lease{}, err
				}
				return next()
			}}))
		},
		"and the next holder dies when it has the lease": func(t *testing.T, g *graph.Graph, s state.Store) (graph.Result, error) {
			dead(t, g, s)
			if err := s.RequestCancel(t.Context(), "t"); err != nil {
				return graph.Result{}, err
			}
			<-time.After(2 * time.Second)
			o := queued(&hooked{Store: s, acquire: func(next func() (state.Lease, error)) (state.Lease, error) {
				if _, err := next(); err != nil {
					return state.Lease{}, err
				}
				return state.Lease{}, errUnplugged
			}})
			o.LeaseTTL = time.Second
			if _, err := g.Resume(t.Context(), "t", o); !errors.Is(err, errUnplugged) {
				t.Errorf("%v", err)
			}
			<-time.After(2 * time.Second)
			return g.Resume(t.Context(), "t", queued(s))
		},
		"between a new thread and its first lease": func(t *testing.T, g *graph.Graph, s state.Store) (graph.Result, error) {
			return g.Run(t.Context(), graph.RunOptions{Thread: "t", Store: &hooked{Store: s, acquire: func(next func() (state.Lease, error)) (state.Lease, error) {
				if err := s.RequestCancel(t.Context(), "t"); err != nil {
					return state.Lease{}, err
				}
				return next()
			}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs counter
				g, s := gates(t, &runs), newStore(t)
				res, err := play(t, g, s)
				ends(t, s, &runs, res, err)
			})
		})
	}
}

func TestACancelOfARunThatStopsDoesNotReachTheNext(t *testing.T) {
	var runs counter
	g, s := gates(t, &runs), newStore(t)
	var next state.Lease
	res := run(t, g, graph.RunOptions{Thread: "t", Store: &hooked{Store: s, release: func(release func() error) error {
		err := errors.Join(s.RequestCancel(t.Context(), "t"), release())
		if err == nil {
			if next, err = s.Acquire(t.Context(), "t", "next", time.Minute); err == nil {
				err = s.SetStatus(t.Context(), next, state.StatusRunning, nil, nil)
			}
		}
		return err
	}}})
	wantStatus(t, res, state.StatusInterrupted)
	asked, err := s.CancelRequested(t.Context(), "t")
	if err != nil || asked {
		t.Fatalf("the next holder is asked to stop: %v, %v", asked, err)
	}
}

func TestReopeningAThreadSettlesEarlierCancelsAndNoLaterOnes(t *testing.T) {
	t.Run("one that a dead holder was asked before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var runs counter
			g, s := gates(t, &runs), newStore(t)
			dead(t, g, s)
			if err := s.RequestCancel(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Second)
			if th, err := g.Reopen(t.Context(), "t", graph.RunOptions{Store: s}); err != nil || th.Status != state.StatusRunning {
				t.Fatal(th, err)
			}
			wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: s, Queued: true}), state.StatusInterrupted)
			if runs.of("ask") != 1 {
				t.Errorf("it ran %d times", runs.of("ask"))
			}
		})
	})
	t.Run("one that comes meanwhile", func(t *testing.T) {
		var runs counter
		g, s := gates(t, &runs), newStore(t)
		wantStatus(t, run(t, g, graph.RunOptions{Store: s, Thread: "t"}), state.StatusInterrupted)
		th, err := g.Reopen(t.Context(), "t", graph.RunOptions{Store: &hooked{Store: s, release: func(release func() error) error {
			return errors.Join(s.RequestCancel(t.Context(), "t"), release())
		}}})
		if err != nil || th.Status != state.StatusCancelled {
			t.Fatalf("thread %+v, %v", th, err)
		}
	})
}

func TestACancelThatAFailedReleaseDidNotCarryOutIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		g, s := gates(t, &runs), newStore(t)
		_, err := g.Run(t.Context(), graph.RunOptions{Thread: "t", LeaseTTL: time.Second, Store: &hooked{Store: s, release: func(func() error) error {
			return errors.Join(s.RequestCancel(t.Context(), "t"), errUnplugged)
		}}})
		if !errors.Is(err, errUnplugged) {
			t.Fatalf("%v", err)
		}
		<-time.After(2 * time.Second)
		wantStatus(t, resume(t, g, "t", graph.RunOptions{Store: s, Queued: true}), state.StatusCancelled)
	})
}
