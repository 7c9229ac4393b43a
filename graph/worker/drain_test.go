package worker_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
)

func TestADrainHandsThreadsBackAndAnotherWorkerGoesOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, sleeping(3*time.Second))
		old := f.start(t, "old", nil)
		f.enqueue(t, "a", "b")
		<-time.After(4 * time.Second) // in the second of three nodes
		f.start(t, "new", nil)
		begun := time.Now()
		if err := old.stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("draining took %s: a node was begun after it", took)
		}
		stopped := time.Now()
		await(t, time.Minute, "completed", func() bool {
			return f.status(t, "a") == state.StatusCompleted && f.status(t, "b") == state.StatusCompleted
		})
		if took := time.Since(stopped); took > 3*time.Second+100*time.Millisecond {
			t.Errorf("the other worker took %s for one node of 3 s", took)
		}
		if got := old.events("a"); !slices.Equal(got, []worker.EventKind{worker.EventTaken, worker.EventHandBack}) {
			t.Errorf("events %v", got)
		}
	})
}

func TestAThreadThatOutlastsTheGraceIsCutAndGoesOnElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Hour))
		old := f.start(t, "old", &worker.Options{Grace: 5 * time.Second})
		old.mayCut = true
		f.enqueue(t, "slow")
		<-time.After(time.Second)
		begun := time.Now()
		err := old.stop()
		cut, is := errors.AsType[*worker.CutError](err)
		if !is || !slices.Equal(cut.Cut, []string{"slow"}) || len(cut.Stuck) > 0 || time.Since(begun) != 5*time.Second {
			t.Fatalf("%v after %s", err, time.Since(begun))
		}
		if s := f.status(t, "slow"); s != state.StatusRunning {
			t.Fatalf("it is %s: nobody would go on with it", s)
		}
		f.start(t, "new", &worker.Options{Grace: -1})
		await(t, time.Second, "taken over", func() bool { return f.ran.of("slow") == 2 })
		if err := f.RequestCancel(t.Context(), "slow"); err != nil {
			t.Fatal(err)
		}
		await(t, time.Second, "cancelled", func() bool { return f.status(t, "slow") == state.StatusCancelled })
	})
}

func TestANodeThatIgnoresItsEndDoesNotHoldTheWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		f := newFleet(t, 1, func(context.Context, graph.Input) (graph.Update, error) {
			<-stuck
			return graph.Update{}, nil
		})
		p := f.start(t, "w", &worker.Options{Grace: time.Second})
		p.mayCut = true
		f.enqueue(t, "t")
		<-time.After(time.Second)
		begun := time.Now()
		cut, is := errors.AsType[*worker.CutError](p.stop())
		if !is || len(cut.Stuck) > 0 || time.Since(begun) > time.Second+graph.DefaultGrace {
			t.Fatalf("%v after %s", cut, time.Since(begun))
		}
	})
}

func TestARunThatNeverReturnsIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		f := newFleet(t, 1, sleeping(time.Second))
		f.enqueue(t, "t")
		w := worker.New(f.Store, f.Store, func(context.Context, state.Thread, graph.RunOptions) (graph.Result, error) {
			<-stuck
			return graph.Result{}, errors.New("at last")
		}, &worker.Options{Grace: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cut, is := errors.AsType[*worker.CutError](w.Serve(ctx))
		if !is || !slices.Equal(cut.Stuck, []string{"t"}) {
			t.Fatalf("%v", cut)
		}
		close(stuck)
	})
}

func TestNothingIsTakenAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		f.enqueue(t, "t")
		w := worker.New(f.Store, f.Store, func(context.Context, state.Thread, graph.RunOptions) (graph.Result, error) {
			t.Error("run")
			return graph.Result{}, nil
		}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Serve(ctx); err != nil {
			t.Fatal(err)
		}
		if due, _, err := f.QueueLen(t.Context()); err != nil || due != 1 {
			t.Errorf("%d due, %v", due, err)
		}
		if err := w.Serve(t.Context()); err == nil {
			t.Error("served twice")
		}
	})
}

// hanging is a queue whose claims take until the context of one ends.
type hanging struct{ state.Queue }

func (hanging) Claim(ctx context.Context, _ int, _ time.Duration) ([]state.Claim, time.Duration, error) {
	<-ctx.Done()
	return nil, 0, ctx.Err()
}

func TestADrainDoesNotWaitForTheQueueBeforeItsGraceBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		err := worker.New(hanging{f.Store}, f.Store, func(context.Context, state.Thread, graph.RunOptions) (graph.Result, error) {
			return graph.Result{}, nil
		}, &worker.Options{Grace: 2 * time.Second}).Serve(ctx)
		if took := time.Since(begun); err != nil || took > turn {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	f := newFleet(t, 1, sleeping(time.Second))
	run := func(context.Context, state.Thread, graph.RunOptions) (graph.Result, error) {
		return graph.Result{}, nil
	}
	for name, w := range map[string]*worker.Worker{
		"no queue":     worker.New(nil, f.Store, run, nil),
		"no store":     worker.New(f.Store, nil, run, nil),
		"nothing runs": worker.New(f.Store, f.Store, nil, nil),
		"a short turn": worker.New(f.Store, f.Store, run, &worker.Options{Turn: time.Millisecond}),
	} {
		if err := w.Serve(t.Context()); err == nil {
			t.Errorf("%s: served", name)
		}
	}
}
