package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/state"
)

// telling is a store that tells of cancel requests, unless they get lost.
type telling struct {
	state.Store
	lost    bool
	asked   chan struct{}
	polls   atomic.Int32
	stopped atomic.Int32
}

func (s *telling) NotifyCancel(string) (<-chan struct{}, func()) {
	return s.asked, func() { s.stopped.Add(1) }
}

func (s *telling) RequestCancel(ctx context.Context, id string) error {
	if err := s.Store.RequestCancel(ctx, id); err != nil {
		return err
	}
	if !s.lost {
		s.asked <- struct{}{}
	}
	return nil
}

func (s *telling) CancelRequested(ctx context.Context, id string) (bool, error) {
	s.polls.Add(1)
	return s.Store.CancelRequested(ctx, id)
}

func TestAStoreThatTellsOfACancelIsHardlyPolled(t *testing.T) {
	for name, c := range map[string]struct {
		lost  bool
		after time.Duration // at most
	}{
		"told": {false, 0},
		"lost": {true, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &telling{Store: newStore(t), lost: c.lost, asked: make(chan struct{}, 1)}
				var asked time.Time
				var took time.Duration
				time.AfterFunc(time.Minute+time.Second/2, func() {
					asked = time.Now()
					if err := s.RequestCancel(context.Background(), "t"); err != nil {
						t.Error(err)
					}
				})
				g := compile(t, one(graph.Node{Run: func(ctx context.Context, _ graph.Input) (graph.Update, error) {
					<-ctx.Done()
					took = time.Since(asked)
					return graph.Update{}, ctx.Err()
				}}))
				res := run(t, g, graph.RunOptions{Store: s, Thread: "t"})
				wantStatus(t, res, state.StatusCancelled)
				if !errors.Is(res.Err, graph.ErrCancelRequested) || took > c.after {
					t.Errorf("%v after %s", res.Err, took)
				}
				if n := s.polls.Load(); n > 33 {
					t.Errorf("asked %d times in a minute", n)
				}
				if s.stopped.Load() != 1 {
					t.Errorf("the notification was stopped %d times", s.stopped.Load())
				}
			})
		})
	}
}

func TestACancelThatCameBeforeTheNoticeIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &early{telling{Store: newStore(t), lost: true}}
		begun := time.Now()
		g := compile(t, one(graph.Node{Run: untilCut}))
		wantStatus(t, run(t, g, graph.RunOptions{Store: s, Thread: "t"}), state.StatusCancelled)
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

// early is a store through which a cancel is asked for as the run begins.
type early struct{ telling }

func (s *early) SetStatus(ctx context.Context, l state.Lease, st state.Status, f *state.Failure, r []state.Record) error {
	if st == state.StatusRunning {
		if err := s.RequestCancel(ctx, l.Thread); err != nil {
			return err
		}
	}
	return s.Store.SetStatus(ctx, l, st, f, r)
}

func TestAStoreThatStopsTellingIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &telling{Store: newStore(t), lost: true, asked: make(chan struct{})}
		close(s.asked)
		time.AfterFunc(time.Minute, func() {
			if err := s.RequestCancel(context.Background(), "t"); err != nil {
				t.Error(err)
			}
		})
		begun := time.Now()
		wantStatus(t, run(t, compile(t, one(graph.Node{Run: untilCut})), graph.RunOptions{Store: s, Thread: "t"}), state.StatusCancelled)
		if took := time.Since(begun) - time.Minute; took > 250*time.Millisecond || s.polls.Load() > 250 {
			t.Errorf("seen after %s and %d polls", took, s.polls.Load())
		}
	})
}
