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

func TestResumeDoesNotWaitForAnOwnerThatRenewsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := compile(t, one(graph.Node{Run: func(context.Context, graph.Input) (graph.Update, error) {
			return graph.Update{}, errBoom
		}}))
		store := newStore(t)
		res := run(t, g, graph.RunOptions{Store: store})
		lease, err := store.Acquire(t.Context(), res.Thread, "alive", 9*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(3*time.Second, func() {
			if _, err := store.Renew(context.Background(), lease); err != nil {
				t.Error(err)
			}
		})
		begun := time.Now()
		_, err = g.Resume(t.Context(), res.Thread, graph.RunOptions{Store: store, WaitBusy: func(time.Duration) {}})
		busy, is := errors.AsType[*state.BusyError](err)
		if !is || busy.Owner != "alive" {
			t.Fatalf("%v; want who holds the thread", err)
		}
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it took %s to see that the owner is alive", took)
		}
	})
}
