package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"junction/state"
	"junction/state/sqlite"
)

// A thread outlives the process that ran it: what was committed is there when
// the file is opened again.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "junction")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, ".junction", "state.db")
	if err := firstRun(path); err != nil {
		log.Fatal(err)
	}

	store, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		log.Fatal(err)
	}
	snap, err := store.Load(context.Background(), "review-1", 0)
	if err := errors.Join(err, store.Close()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("step %d: %s, next %s\n", snap.Step, snap.Logs["findings"][0], snap.Next[0].Node)
	// Output: step 1: "unused result", next report
}

func firstRun(path string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	_, err = store.CreateThread(ctx, state.NewThread{
		ID: "review-1", Workflow: "code-review", Lineage: "review-1",
		Append: map[string][]json.RawMessage{"findings": nil},
		Next:   []state.Task{{ID: "t1", Node: "lint"}},
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	lease, err := store.Acquire(ctx, "review-1", "worker-1", 10*time.Second)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	_, err = store.Commit(ctx, state.Commit{
		Lease: lease, Parent: 1, WriteID: "w1", Step: 1, Status: state.StatusRunning,
		Append: map[string][]json.RawMessage{"findings": {json.RawMessage(`"unused result"`)}},
		Next:   []state.Task{{ID: "t2", Node: "report"}},
	})
	return errors.Join(err, store.Release(ctx, lease), store.Close())
}
