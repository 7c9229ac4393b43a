package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
)

func TestQueuedThreadsAreRunAndTakenOutOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, sleeping(time.Second))
		p := f.start(t, "w", &worker.Options{Threads: 3})
		synctest.Wait() // it waits for threads
		begun := time.Now()
		f.enqueue(t, "a", "b", "c", "d")
		await(t, time.Minute, "all completed", func() bool {
			return !slices.ContainsFunc([]string{"a", "b", "c", "d"}, func(id string) bool { return f.status(t, id) != state.StatusCompleted })
		})
		if took := time.Since(begun); took > 4*time.Second+50*time.Millisecond {
			t.Errorf("four threads of two seconds on three places took %s", took)
		}
		synctest.Wait()
		due, later, err := f.QueueLen(t.Context())
		if err != nil || due+later != 0 || p.Running() != 0 {
			t.Errorf("%d due, %d later, %d running, %v", due, later, p.Running(), err)
		}
		if got := p.events("a"); !slices.Equal(got, []worker.EventKind{worker.EventTaken, worker.EventEnded}) {
			t.Errorf("events %v", got)
		}
	})
}

func TestAThreadOfADeadWorkerIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, sleeping(7*time.Second))
		dead := f.start(t, "dead", nil)
		f.enqueue(t, "t")
		<-time.After(9 * time.Second) // in its second node; lease and turn have been renewed
		if head := headOf(t, f, "t"); head != 2 {
			t.Fatalf("head %d", head)
		}
		dead.kill()
		died := time.Now()
		f.start(t, "heir", nil)
		await(t, 2*turn, "taken over", func() bool { return f.ran.of("t") == 2 })
		if took := time.Since(died); took > 3*turn/2 {
			t.Errorf("taken over after %s", took)
		}
		await(t, turn, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
	})
}

func headOf(t *testing.T, f *fleet, id string) int64 {
	th, err := f.Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return th.Head
}

func TestALongThreadStaysWithItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(10*time.Minute))
		f.enqueue(t, "t")
		f.start(t, "a", nil)
		f.start(t, "b", nil)
		await(t, 11*time.Minute, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
		if n := f.ran.of("t"); n != 1 {
			t.Errorf("run %d times", n)
		}
	})
}

func TestAThreadThatIsHeldElsewhereWaitsForItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		f.enqueue(t, "t")
		l, err := f.Acquire(t.Context(), "t", "person", 4*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		p := f.start(t, "w", nil)
		await(t, 7*time.Second, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
		busy := 0
		for _, k := range p.events("t") {
			if k == worker.EventBusy {
				busy++
			}
		}
		if busy < 3 || busy > 5 {
			t.Errorf("refused %d times in %s", busy, l.TTL)
		}
	})
}

func TestAnEntryWithoutAThreadGoesOnceThereWillBeNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Second))
		p := f.start(t, "w", nil)
		for _, id := range []string{"never", "late"} {
			if err := f.Enqueue(t.Context(), id, 0); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(20 * time.Second)
		if _, err := f.g.Create(t.Context(), graph.RunOptions{Store: f.Store, Thread: "late"}); err != nil {
			t.Fatal(err)
		}
		await(t, 3*time.Second, "the late one completed", func() bool { return f.status(t, "late") == state.StatusCompleted })
		if got := p.events("never"); len(got) != 0 {
			t.Fatalf("given up early: %v", got)
		}
		await(t, 15*time.Second, "the other dropped", func() bool { return len(p.events("never")) > 0 })
		due, later, err := f.QueueLen(t.Context())
		if err != nil || due+later != 0 {
			t.Errorf("%d due, %d later, %v", due, later, err)
		}
	})
}

func TestWhatWasStoppedIsNotRun(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, f *fleet){
		"cancelled while queued": func(t *testing.T, f *fleet) {
			if err := f.RequestCancel(t.Context(), "t"); err != nil {
				t.Error(err)
			}
		},
		"cancelled under a holder that died before it saw that": func(t *testing.T, f *fleet) {
			if _, err := f.Acquire(t.Context(), "t", "dead", turn); err != nil {
				t.Error(err)
			}
			if err := f.RequestCancel(t.Context(), "t"); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var nodes tally
				f := newFleet(t, 1, func(context.Context, graph.Input) (graph.Update, error) {
					nodes.add("ran")
					return graph.Update{}, nil
				})
				f.enqueue(t, "t")
				stop(t, f)
				f.start(t, "w", nil)
				await(t, 12*time.Second, "cancelled and out of the queue", func() bool {
					due, later, err := f.QueueLen(t.Context())
					return err == nil && due+later == 0 && f.status(t, "t") == state.StatusCancelled
				})
				if nodes.of("ran") != 0 {
					t.Error("it was run")
				}
			})
		})
	}
}

func TestACancelReachesARunningThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(time.Hour))
		f.enqueue(t, "t")
		f.start(t, "w", nil)
		<-time.After(time.Minute)
		if err := f.RequestCancel(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		await(t, time.Second, "cancelled", func() bool { return f.status(t, "t") == state.StatusCancelled })
	})
}

func TestAThreadAskedForDuringItsRunIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, func(ctx context.Context, _ graph.Input) (graph.Update, error) {
			if _, err := sleeping(3*time.Second)(ctx, graph.Input{}); err != nil {
				return graph.Update{}, err
			}
			answer, err := graph.Ask(ctx, "go on?")
			return graph.Update{Writes: []graph.Write{{Channel: "log", Value: []any{string(answer)}}}}, err
		})
		f.enqueue(t, "t")
		f.start(t, "a", nil)
		f.start(t, "b", nil)
		await(t, 5*time.Second, "asked", func() bool { return f.status(t, "t") == state.StatusInterrupted })
		synctest.Wait() // the lease is given back after the status
		if f.ran.of("t") != 1 {
			t.Fatalf("run %d times", f.ran.of("t"))
		}
		// The person's answer comes while a worker that was given the thread once
		// more holds it: nothing reopens it then.
		l, err := f.Acquire(t.Context(), "t", "c", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		err = worker.Enqueue(t.Context(), f.Store, "t", func(ctx context.Context) error {
			if err := graph.Answer(ctx, f.Store, "t", map[string]json.RawMessage{"": json.RawMessage("true")}); err != nil {
				return err
			}
			_, err := f.Reopen(ctx, "t")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2500 * time.Millisecond)
		if f.status(t, "t") != state.StatusInterrupted {
			t.Fatal(f.status(t, "t"))
		}
		if err := f.Release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		await(t, 5*time.Second, "completed with the answer", func() bool { return f.status(t, "t") == state.StatusCompleted })
	})
}

func TestAThreadEnqueuedDuringItsRunIsGivenToItsWorkerOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, sleeping(3*time.Second))
		f.enqueue(t, "t")
		p := f.start(t, "w", nil)
		<-time.After(time.Second)
		before := f.claims.Load()
		if err := f.Enqueue(t.Context(), "t", 0); err != nil {
			t.Fatal(err)
		}
		await(t, 5*time.Second, "run, and looked at again", func() bool {
			return slices.Equal(p.events("t"), []worker.EventKind{worker.EventTaken, worker.EventEnded, worker.EventDropped})
		})
		if n := f.claims.Load() - before; n > 6 {
			t.Errorf("%d claims", n)
		}
		if f.ran.of("t") != 1 {
			t.Errorf("run %d times", f.ran.of("t"))
		}
	})
}

func TestAThreadWhoseStoreForgotIsNotRunAgain(t *testing.T) {
	for name, cause := range map[string]func(state.Lease) error{
		"vanished":  state.Vanished,
		"regressed": func(l state.Lease) error { return state.Regressed(l, "its head is 1, not 2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(time.Second))
				f.enqueue(t, "t")
				p := &process{}
				w := worker.New(f.Store, f.Store, func(_ context.Context, th state.Thread, _ graph.RunOptions) (graph.Result, error) {
					f.ran.add(th.ID)
					return graph.Result{}, fmt.Errorf("commit: %w", cause(state.Lease{Thread: th.ID}))
				}, &worker.Options{OnEvent: func(e worker.Event) {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.saw = append(p.saw, e)
				}})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				if err := w.Serve(ctx); err != nil {
					t.Fatal(err)
				}
				if got := p.events("t"); !slices.Equal(got, []worker.EventKind{worker.EventTaken, worker.EventGone}) || f.ran.of("t") != 1 {
					t.Errorf("events %v, run %d times", got, f.ran.of("t"))
				}
				if due, later, err := f.QueueLen(t.Context()); err != nil || due+later != 0 {
					t.Errorf("%d due, %d later, %v", due, later, err)
				}
			})
		})
	}
}

func TestAThreadThatCannotBeRunFailsAloneAndSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		run  func() error
		most time.Duration
		runs int
	}{
		"panic":           {func() error { panic(errors.New("boom")) }, time.Second, 1},
		"ended goroutine": {func() error { runtime.Goexit(); return nil }, time.Second, 1},
		"another graph":   {func() error { return graph.ErrMismatch }, time.Minute, 6},
		"blob not found":  {func() error { return state.ErrNotFound }, time.Minute, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(time.Second))
				w := worker.New(f.Store, f.Store, func(ctx context.Context, th state.Thread, o graph.RunOptions) (graph.Result, error) {
					if f.ran.add(th.ID); th.ID == "bad" {
						return graph.Result{}, c.run()
					}
					return f.g.Resume(ctx, th.ID, o)
				}, nil)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- w.Serve(ctx) }()
				f.enqueue(t, "bad", "good")
				await(t, 2*time.Second, "the good one completed", func() bool { return f.status(t, "good") == state.StatusCompleted })
				await(t, c.most, "the bad one failed", func() bool { return f.status(t, "bad") == state.StatusFailed })
				th, err := f.Thread(t.Context(), "bad")
				if err != nil || th.Failure == nil || th.Failure.Message == "" || f.ran.of("bad") != c.runs {
					t.Errorf("thread %+v, %v; run %d times", th, err, f.ran.of("bad"))
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAThreadWhoseStoreIsAwayIsTriedEachTurnAndNeverFailed(t *testing.T) {
	for name, away := range map[string]error{
		"unavailable":  fmt.Errorf("commit: %w", state.ErrUnavailable),
		"out of time":  fmt.Errorf("load: %w", context.DeadlineExceeded),
		"lost a lease": fmt.Errorf("renew: %w", state.ErrLeaseLost),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, sleeping(time.Second))
				f.enqueue(t, "t")
				w := worker.New(f.Store, f.Store, func(ctx context.Context, th state.Thread, o graph.RunOptions) (graph.Result, error) {
					if f.ran.add(th.ID) < 10 {
						return graph.Result{}, away
					}
					return f.g.Resume(ctx, th.ID, o)
				}, nil)
				begun := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- w.Serve(ctx) }()
				await(t, 15*turn, "completed", func() bool { return f.status(t, "t") == state.StatusCompleted })
				if took := time.Since(begun); took < 9*turn {
					t.Errorf("ten tries within %s", took)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
