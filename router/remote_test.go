package router_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// asTask makes a task of every call: it is told, and takes d from its creation.
// Whoever attaches to it waits for the rest.
func asTask(id string, d time.Duration, by string) reply {
	return func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		left := d
		if c.Attach != nil {
			left = d - time.Since(c.Attach.Created)
		} else if err := c.OnTask(ctx, state.RemoteTask{ID: id, Created: time.Now()}); err != nil {
			return nil, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Err: err}
		}
		return takes(max(left, 0), by)(ctx, n, c)
	}
}

// drained runs the hop and drains it after d.
func drained(t *testing.T, r *router.Router, k task, d time.Duration) error {
	t.Helper()
	ctx, _ := k.context(t)
	draining := make(chan struct{})
	time.AfterFunc(d, func() { close(draining) })
	_, err := r.Do(state.WithDraining(ctx, draining), work)
	return err
}

func TestATaskIsReattachedToInsteadOfCalledAgain(t *testing.T) {
	for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		t.Run(string(e), func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Offers[0].Effect = e
				k.answer = asTask("task-1", 25*time.Second, "a")
			}).add("b", effect(e))
			f.by["b"].answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
				t.Error("another server was called while the task ran")
				return nil, errors.New("called")
			}
			inBubble(t, f, router.Options{Picker: first{}}, func(t *testing.T, r *router.Router) {
				book := &ledgerBook{}
				if err := drained(t, r, task{book: book}, 10*time.Second); !errors.Is(err, state.ErrDraining) {
					t.Fatalf("drained: %v", err)
				}
				rs, _ := book.Records(t.Context(), state.RecordFilter{})
				if len(rs) != 1 || rs[0].Status != state.CallOpen || rs[0].Remote == nil || rs[0].Remote.ID != "task-1" {
					t.Fatalf("records after the drain: %+v", rs)
				}
				ctx, _ := task{book: book}.context(t)
				begun := time.Now()
				a, err := r.Do(ctx, work)
				if err != nil || a.Value.(map[string]any)["by"] != "a" {
					t.Fatalf("%+v, %v", a, err)
				}
				if took := time.Since(begun); took != 15*time.Second {
					t.Errorf("it was waited for %v, want the rest of its 25 s", took)
				}
				rs, _ = book.Records(t.Context(), state.RecordFilter{})
				if want := []string{"1 a success  "}; e != state.Safe && !slices.Equal(statuses(rs), want) {
					t.Errorf("history %q, want %q", statuses(rs), want)
				}
				if len(f.calls) != 2 || f.calls[0].Call.Attach != nil || f.calls[1].Call.Attach == nil || f.calls[1].Call.Arguments != nil {
					t.Errorf("calls %+v", f.calls)
				}
			})
		})
	}
}

// first picks the first candidate.
type first struct{}

func (first) Name() string { return "first" }
func (first) Pick(weights []float64, _ uint64) (int, float64) {
	for i, w := range weights {
		if w > 0 {
			return i, 0
		}
	}
	return -1, 0
}

func TestAReattachedTaskKeepsItsFirstStart(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Unsafe
		k.answer = asTask("task-1", time.Hour, "a")
	})
	call := work
	call.Max = time.Minute
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		ctx, _ := task{book: book}.context(t)
		draining := make(chan struct{})
		time.AfterFunc(20*time.Second, func() { close(draining) })
		if _, err := r.Do(state.WithDraining(ctx, draining), call); !errors.Is(err, state.ErrDraining) {
			t.Fatal(err)
		}
		begun := time.Now()
		ctx, _ = task{book: book}.context(t)
		_, err := r.Do(ctx, call)
		if _, unknown := errors.AsType[*router.UnknownOutcomeError](err); !unknown {
			t.Fatalf("%v; want that its outcome is unknown", err)
		}
		if took := time.Since(begun); took != 40*time.Second {
			t.Errorf("it was waited for %v, want what was left of its minute", took)
		}
	})
}

func TestATaskWhoseServerLeftIsUnknownByEffect(t *testing.T) {
	for e, calls := range map[state.Effect]int{state.Safe: 2, state.Unsafe: 1} {
		t.Run(string(e), func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Offers[0].Effect = e
				k.answer = asTask("task-1", time.Minute, "a")
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				book := &ledgerBook{}
				if err := drained(t, r, task{book: book}, time.Second); !errors.Is(err, state.ErrDraining) {
					t.Fatal(err)
				}
				f.drop(func(s *router.Server) bool { return s.ID == "a" })
				f.add("b", effect(e))
				ctx, _ := task{book: book}.context(t)
				_, err := r.Do(ctx, work)
				_, unknown := errors.AsType[*router.UnknownOutcomeError](err)
				if unknown != (e == state.Unsafe) || e == state.Safe && err != nil {
					t.Errorf("error %v", err)
				}
				if len(f.calls) != calls {
					t.Errorf("%d calls, want %d", len(f.calls), calls)
				}
			})
		})
	}
}

func TestATaskIsLeftAloneWhenTheLeaseIsLost(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].Effect = state.Conditional
		k.answer = asTask("task-1", time.Minute, "a")
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		ctx, _ := task{book: book}.context(t)
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(state.ErrLeaseLost) })
		if _, err := r.Do(ctx, work); !errors.Is(err, state.ErrLeaseLost) {
			t.Fatalf("%v, want that the lease was lost", err)
		}
		rs, _ := book.Records(t.Context(), state.RecordFilter{})
		if len(rs) != 1 || rs[0].Status != state.CallOpen || rs[0].Remote == nil {
			t.Errorf("records %+v, want the open intent with its task", rs)
		}
	})
}

func TestATaskWhoseIdCannotBeStoredEndsTheHop(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) { k.answer = asTask("task-1", time.Minute, "a") })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{fail: errors.New("the disk is full")}
		ctx, _ := task{book: book, prior: []state.Record{}}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, book.fail) {
			t.Errorf("%v, want the store's error", err)
		}
		if len(f.calls) != 1 {
			t.Errorf("%d calls, want 1", len(f.calls))
		}
	})
}
