package state_test

import (
	"context"
	"errors"
	"testing"

	"junction/state"
)

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestDrainWaitsForHopsInFlightAndRefusesNewOnes(t *testing.T) {
	j := state.NewJournal(state.Scope{Thread: "t", Node: "pay"}, state.JournalOptions{})
	a, err := j.Begin("a", "x")
	if err != nil {
		t.Fatal(err)
	}
	b, err := j.Begin("", "y")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.MaySend(); err != nil {
		t.Fatal(err)
	}
	idle := j.Drain()
	if _, err := j.Begin("c", "z"); !errors.Is(err, state.ErrDraining) {
		t.Fatalf("a hop began while draining: %v", err)
	}
	if err := j.MaySend(); !errors.Is(err, state.ErrDraining) {
		t.Fatalf("a hop under way may send once more: %v", err)
	}
	a.Close()
	a.Close() // a second close must not count twice
	if closed(idle) {
		t.Fatal("idle although a hop is in flight")
	}
	b.Close()
	if !closed(idle) || !closed(j.Drain()) {
		t.Fatal("not idle although every hop is closed")
	}
}

func TestDrainOfAnIdleJournalIsIdleAtOnce(t *testing.T) {
	j := state.NewJournal(state.Scope{Node: "n"}, state.JournalOptions{})
	if !closed(j.Drain()) {
		t.Fatal("not idle although no hop ever began")
	}
}

func TestDrainingReachesTheContext(t *testing.T) {
	if state.Draining(context.Background()) != nil {
		t.Fatal("draining outside of a graph")
	}
	c := make(chan struct{})
	ctx := state.WithDraining(context.Background(), c)
	if closed(state.Draining(ctx)) {
		t.Fatal("draining before the channel is closed")
	}
	close(c)
	if !closed(state.Draining(ctx)) {
		t.Fatal("the close did not arrive")
	}
}
