package statetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"junction/state"
)

// A lease operation and what came of it. Every lease here outlives the test,
// so it ends by its release alone.
type leaseCall struct {
	op    string // acquire, release or write
	token int64  // of release and write
}

type leaseAnswer struct {
	ok    bool  // acquired, or written
	token int64 // of acquire
}

// leaseState is what a lease should be: who holds it (0: nobody), and the
// highest token given.
type leaseState struct{ holder, highest int64 }

// leaseModel is mutual exclusion with fencing: a lease is given only when it is
// free, under a token higher than any before; only its holder's writes succeed.
var leaseModel = porcupine.Model{
	Init: func() any { return leaseState{} },
	Step: func(st, in, out any) (bool, any) {
		s, call, answer := st.(leaseState), in.(leaseCall), out.(leaseAnswer)
		switch call.op {
		case "acquire":
			if !answer.ok {
				return s.holder != 0, s
			}
			return s.holder == 0 && answer.token > s.highest, leaseState{answer.token, answer.token}
		case "release":
			if s.holder == call.token {
				s.holder = 0
			}
			return true, s
		default:
			return answer.ok == (s.holder == call.token), s
		}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}

func leaseHistory(t *testing.T, s state.Store) {
	const workers, turns = 5, 8
	th := create(t, s)
	start := time.Now()
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		wg      sync.WaitGroup
	)
	for w := range workers {
		timed := func(call leaseCall, do func() (leaseAnswer, error)) leaseAnswer {
			called := time.Since(start).Nanoseconds()
			answer, err := do()
			returned := time.Since(start).Nanoseconds()
			if err != nil {
				t.Errorf("%+v: %v", call, err)
			}
			mu.Lock()
			defer mu.Unlock()
			history = append(history, porcupine.Operation{ClientId: w, Input: call, Output: answer, Call: called, Return: returned})
			return answer
		}
		wg.Go(func() { contend(t, s, th.ID, turns, timed) })
	}
	wg.Wait()
	if got := porcupine.CheckOperationsTimeout(leaseModel, history, 20*time.Second); got != porcupine.Ok {
		t.Fatalf("the history of %d lease operations is %v", len(history), got)
	}
}

// contend is one worker: it takes the lease, writes, lets go, and writes again
// as one that has not noticed.
func contend(t *testing.T, s state.Store, id string, turns int, timed func(leaseCall, func() (leaseAnswer, error)) leaseAnswer) {
	ctx := t.Context()
	for range turns {
		var l state.Lease
		got := timed(leaseCall{op: "acquire"}, func() (leaseAnswer, error) {
			var err error
			l, err = s.Acquire(ctx, id, "worker", long)
			if errors.Is(err, state.ErrBusy) {
				return leaseAnswer{}, nil
			}
			return leaseAnswer{ok: err == nil, token: l.Token}, err
		})
		if !got.ok {
			continue
		}
		write := func() {
			timed(leaseCall{"write", l.Token}, func() (leaseAnswer, error) {
				err := s.PutSession(ctx, l, state.Session{ID: "s"})
				if errors.Is(err, state.ErrLeaseLost) {
					return leaseAnswer{}, nil
				}
				return leaseAnswer{ok: err == nil}, err
			})
		}
		write()
		timed(leaseCall{"release", l.Token}, func() (leaseAnswer, error) { return leaseAnswer{}, s.Release(ctx, l) })
		write()
	}
}
