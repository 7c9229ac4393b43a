package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
)

func TestAThreadThatAWorkerLacksSomethingForIsLeftToAnotherBeforeItFails(t *testing.T) {
	lacks := errors.New("no such capability here")
	for name, c := range map[string]struct {
		fails, runs int // how many runs fail, and how often it is run in all
		err         error
		end         state.Status
	}{
		"another one can":  {2, 3, lacks, state.StatusCompleted},
		"no worker can":    {100, 4, lacks, state.StatusFailed},
		"another failure":  {100, 1, errors.New("broken"), state.StatusFailed},
		"nothing is wrong": {0, 1, nil, state.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				f := newFleet(t, 1, func(context.Context, graph.Input) (graph.Update, error) {
					if runs++; runs <= c.fails {
						return graph.Update{}, c.err
					}
					return graph.Update{Writes: []graph.Write{{Channel: "log", Value: []any{"done"}}}}, nil
				})
				f.start(t, "w", &worker.Options{Elsewhere: func(err error) bool { return errors.Is(err, lacks) }})
				f.enqueue(t, "t")
				await(t, 5*time.Minute, "settled", func() bool { return f.entry(t) < 0 })
				if f.status(t, "t") != c.end || runs != c.runs {
					t.Errorf("%s after %d runs, want %s after %d", f.status(t, "t"), runs, c.end, c.runs)
				}
			})
		})
	}
}
