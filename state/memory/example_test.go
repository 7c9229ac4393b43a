package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"junction/state"
	"junction/state/memory"
)

// A lease is the exclusive right to advance a thread; its token fences off
// whoever held it before.
func ExampleNew() {
	ctx := context.Background()
	store := memory.New(nil)
	_, err := store.CreateThread(ctx, state.NewThread{ID: "review-1", Workflow: "code-review"})
	if err != nil {
		fmt.Println(err)
	}
	first, err := store.Acquire(ctx, "review-1", "worker-1", 10*time.Second)
	if err != nil {
		fmt.Println(err)
	}
	_, err = store.Acquire(ctx, "review-1", "worker-2", 10*time.Second)
	fmt.Println(errors.Is(err, state.ErrBusy))

	if err := store.Release(ctx, first); err != nil {
		fmt.Println(err)
	}
	if _, err = store.Acquire(ctx, "review-1", "worker-2", 10*time.Second); err != nil {
		fmt.Println(err)
	}
	_, err = store.Commit(ctx, state.Commit{Lease: first, Parent: 1, Status: state.StatusRunning})
	fmt.Println(errors.Is(err, state.ErrLeaseLost))
	// Output:
	// true
	// true
}
