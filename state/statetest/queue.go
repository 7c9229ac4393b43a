package statetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"junction/state"
)

// RunQueue checks the contract of a queue. Open is called once for each theme,
// gives an empty queue, and closes it with t.Cleanup.
func RunQueue(t *testing.T, open func(t *testing.T) state.Queue) {
	for _, theme := range []struct {
		name string
		test func(t *testing.T, q state.Queue)
	}{
		{"an empty queue hands out nothing", queueEmpty},
		{"those that waited longest come first", queueOrder},
		{"a claimed thread comes up again when its turn is over", queueTurns},
		{"a turn that is over goes before those that wait", queueTurnsFirst},
		{"what was deferred goes before what nobody began", queueDeferredFirst},
		{"a thread due later is not handed out", queueLater},
		{"a thread is in the queue once", queueOnce},
		{"what was asked for again stays", queueMoved},
		{"what is done is gone", queueDone},
		{"what is deferred is due then", queueDefer},
		{"an extended turn lasts longer", queueExtend},
		{"a turn that is over is not extended", queueExtendLate},
		{"many turns are extended at once", queueExtendMany},
		{"a thread's id has any characters", queueIDs},
		{"those that wait are woken", queueWake},
		{"one is woken for each", queueWakeOne},
		{"who leaves takes no wake-up along", queueWakeLeft},
		{"waiting ends", queueWaitEnds},
		{"what makes no sense is refused", queueRefuses},
		{"a context that has ended ends every call", queueCancelled},
		{"many workers get each thread once", queueMany},
	} {
		t.Run(theme.name, func(t *testing.T) { theme.test(t, open(t)) })
	}
}

func enqueue(t *testing.T, q state.Queue, after time.Duration, threads ...string) {
	t.Helper()
	for _, id := range threads {
		must(t, q.Enqueue(t.Context(), id, after))
	}
}

// claim wants just these threads to be handed out, in this order.
func claim(t *testing.T, q state.Queue, n int, turn time.Duration, want ...string) ([]state.Claim, time.Duration) {
	t.Helper()
	claims, next, err := q.Claim(t.Context(), n, turn)
	must(t, err)
	equal(t, "threads handed out", threadsOf(claims), want)
	return claims, next
}

func threadsOf(claims []state.Claim) []string {
	var threads []string
	for _, c := range claims {
		threads = append(threads, c.Thread)
	}
	return threads
}

func wantLen(t *testing.T, q state.Queue, due, later int) {
	t.Helper()
	gotDue, gotLater, err := q.QueueLen(t.Context())
	must(t, err)
	equal(t, "due and later", []int{gotDue, gotLater}, []int{due, later})
}

func queueEmpty(t *testing.T, q state.Queue) {
	if _, next := claim(t, q, 5, long); next >= 0 {
		t.Errorf("next is %v, want negative", next)
	}
	wantLen(t, q, 0, 0)
	held, err := q.Extend(t.Context(), nil, long)
	must(t, err)
	equal(t, "turns extended", held, []state.Claim(nil))
}

func queueOrder(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "c", "a", "d", "b")
	wantLen(t, q, 4, 0)
	if _, next := claim(t, q, 3, long, "c", "a", "d"); next != 0 {
		t.Errorf("next is %v with a thread left that is due, want 0", next)
	}
	wantLen(t, q, 1, 3)
	if _, next := claim(t, q, 3, long, "b"); next <= 0 || next > long {
		t.Errorf("next is %v, want the rest of the first turn", next)
	}
	claim(t, q, 3, long)
	enqueue(t, q, 0, "e")
	if _, next := claim(t, q, 0, long); next != 0 {
		t.Errorf("next is %v when none was asked for and one is due, want 0", next)
	}
	wantLen(t, q, 1, 4)
}

func queueTurns(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	first, next := claim(t, q, 1, short, "t")
	if next <= 0 || next > short {
		t.Errorf("next is %v, want until the turn is over", next)
	}
	var second []state.Claim
	eventually(t, "the turn is over", func() bool {
		var err error
		second, _, err = q.Claim(t.Context(), 1, long)
		must(t, err)
		return len(second) > 0
	})
	if second[0].Thread != "t" || second[0].Until <= first[0].Until {
		t.Errorf("claimed %+v after %+v", second[0], first[0])
	}
	must(t, q.Done(t.Context(), first[0]))
	wantLen(t, q, 0, 1) // the first worker's turn counts no more
	must(t, q.Done(t.Context(), second[0]))
	wantLen(t, q, 0, 0)
}

// A thread somebody began, and died over, waits for no backlog, however old.
func queueTurnsFirst(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "begun", "kept")
	first, _ := claim(t, q, 1, short, "begun")
	kept, _ := claim(t, q, 1, long, "kept")
	enqueue(t, q, 0, "a", "b", "c")
	eventually(t, "the turn is over", func() bool {
		due, _, err := q.QueueLen(t.Context())
		must(t, err)
		return due == 4
	})
	if _, next := claim(t, q, 0, long); next != 0 {
		t.Errorf("next is %v with a turn that is over, want 0", next)
	}
	second, next := claim(t, q, 2, long, "begun", "a")
	if next != 0 {
		t.Errorf("next is %v with threads that wait, want 0", next)
	}
	if second[0].Until <= first[0].Until {
		t.Errorf("claimed %+v after %+v", second[0], first[0])
	}
	claim(t, q, 9, long, "b", "c")
	must(t, q.Done(t.Context(), kept[0]))
	wantLen(t, q, 0, 4)
}

func queueDeferredFirst(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "deferred", "again")
	claims, _ := claim(t, q, 2, short, "deferred", "again")
	enqueue(t, q, 0, "first")
	must(t, q.Defer(t.Context(), claims[0], 0))
	enqueue(t, q, 0, "again")
	if _, next := claim(t, q, 9, long, "deferred", "first", "again"); next <= short {
		t.Errorf("next is %v: a turn that nobody has is still counted", next)
	}
	wantLen(t, q, 0, 3)
}

func queueLater(t *testing.T, q state.Queue) {
	enqueue(t, q, long, "later")
	enqueue(t, q, 0, "now")
	wantLen(t, q, 1, 1)
	if _, next := claim(t, q, 9, 2*long, "now"); next <= 0 || next > long {
		t.Errorf("next is %v, want up to %v", next, long)
	}
	enqueue(t, q, short, "soon")
	if _, next := claim(t, q, 9, long); next > short {
		t.Errorf("next is %v, want up to %v", next, short)
	}
	eventually(t, "it is due", func() bool {
		claims, _, err := q.Claim(t.Context(), 9, long)
		must(t, err)
		return len(claims) == 1 && claims[0].Thread == "soon"
	})
}

func queueOnce(t *testing.T, q state.Queue) {
	enqueue(t, q, long, "t")
	enqueue(t, q, 0, "t", "t")
	wantLen(t, q, 1, 0)
	claim(t, q, 9, long, "t")
	enqueue(t, q, 0, "u")
	enqueue(t, q, long, "u")
	claim(t, q, 9, long)
	wantLen(t, q, 0, 2)
}

func queueMoved(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	old, _ := claim(t, q, 1, long, "t")
	enqueue(t, q, 0, "t")
	must(t, q.Done(t.Context(), old[0]))
	must(t, q.Defer(t.Context(), old[0], long))
	held, err := q.Extend(t.Context(), old, long)
	must(t, err)
	equal(t, "turns extended", held, []state.Claim(nil))
	wantLen(t, q, 1, 0)
	claims, _ := claim(t, q, 1, long, "t")
	must(t, q.Done(t.Context(), old[0]))
	wantLen(t, q, 0, 1)
	must(t, q.Done(t.Context(), claims[0]))
	wantLen(t, q, 0, 0)
}

func queueDone(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t", "u")
	claims, _ := claim(t, q, 2, long, "t", "u")
	must(t, q.Done(t.Context(), claims[0]))
	must(t, q.Done(t.Context(), claims[0])) // again: nothing is left to do
	must(t, q.Done(t.Context(), state.Claim{Thread: "never seen", Until: 1}))
	wantLen(t, q, 0, 1)
	held, err := q.Extend(t.Context(), claims, long)
	must(t, err)
	equal(t, "turns extended", threadsOf(held), []string{"u"})
}

func queueDefer(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	claims, _ := claim(t, q, 1, long, "t")
	must(t, q.Defer(t.Context(), claims[0], 0))
	claims, _ = claim(t, q, 1, long, "t")
	must(t, q.Defer(t.Context(), claims[0], long/2))
	must(t, q.Defer(t.Context(), claims[0], 0)) // moved already
	if _, next := claim(t, q, 1, long); next <= 0 || next > long/2 {
		t.Errorf("next is %v, want up to %v", next, long/2)
	}
	must(t, q.Defer(t.Context(), state.Claim{Thread: "never seen", Until: 1}, 0))
	wantLen(t, q, 0, 1)
}

func queueExtend(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t", "u")
	old, _ := claim(t, q, 2, long, "t", "u")
	enqueue(t, q, 0, "u")
	held, err := q.Extend(t.Context(), old, 2*long)
	must(t, err)
	equal(t, "turns extended", threadsOf(held), []string{"t"})
	if held[0].Until <= old[0].Until {
		t.Errorf("the turn ends at %d, before at %d", held[0].Until, old[0].Until)
	}
	must(t, q.Done(t.Context(), old[0])) // it is another turn now
	wantLen(t, q, 1, 1)
	must(t, q.Done(t.Context(), held[0]))
	wantLen(t, q, 1, 0)
}

func queueExtendLate(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	claims, _ := claim(t, q, 1, short, "t")
	eventually(t, "the turn is over", func() bool {
		due, _, err := q.QueueLen(t.Context())
		must(t, err)
		return due == 1
	})
	held, err := q.Extend(t.Context(), claims, long)
	must(t, err)
	equal(t, "turns extended", held, []state.Claim(nil))
	claim(t, q, 1, long, "t")
}

func queueExtendMany(t *testing.T, q state.Queue) {
	const n = 3000
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("t%04d", i))
	}
	enqueue(t, q, 0, want...)
	claims, next := claim(t, q, n, long, want...)
	if next <= 0 {
		t.Errorf("next is %v, want until the first turn is over", next)
	}
	held, err := q.Extend(t.Context(), claims, long)
	must(t, err)
	equal(t, "turns extended", threadsOf(held), want)
}

func queueIDs(t *testing.T, q state.Queue) {
	ids := []string{"{queue}", "a b\nc", "ü/%41", "\x00\xff", "1e3", "-inf"}
	enqueue(t, q, 0, ids...)
	claims, _ := claim(t, q, 9, long, ids...)
	for _, c := range claims {
		must(t, q.Done(t.Context(), c))
	}
	wantLen(t, q, 0, 0)
}

func queueRefuses(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	if err := q.Enqueue(t.Context(), "", 0); err == nil {
		t.Error("a thread without an id was enqueued")
	}
	for _, turn := range []time.Duration{-1, 0, time.Microsecond} {
		if _, _, err := q.Claim(t.Context(), 1, turn); err == nil {
			t.Errorf("claimed for a turn of %v", turn)
		}
	}
	enqueue(t, q, -time.Hour, "u") // due at once, not before others
	claims, _ := claim(t, q, 2, long, "t", "u")
	if _, err := q.Extend(t.Context(), claims, 0); err == nil {
		t.Error("extended by a turn of 0")
	}
}

func queueCancelled(t *testing.T, q state.Queue) {
	enqueue(t, q, 0, "t")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := state.Claim{Thread: "t", Until: 1}
	for what, call := range map[string]func() error{
		"Enqueue":    func() error { return q.Enqueue(ctx, "new", 0) },
		"Claim":      func() error { _, _, err := q.Claim(ctx, 1, long); return err },
		"Extend":     func() error { _, err := q.Extend(ctx, []state.Claim{c}, long); return err },
		"Done":       func() error { return q.Done(ctx, c) },
		"Defer":      func() error { return q.Defer(ctx, c, 0) },
		"WaitQueued": func() error { return q.WaitQueued(ctx, long) },
		"QueueLen":   func() error { _, _, err := q.QueueLen(ctx); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error is %v, want the context's", what, err)
		}
	}
	claim(t, q, 9, long, "t")
}
