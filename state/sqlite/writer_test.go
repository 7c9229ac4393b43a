package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"junction/state"
)

// storeAt opens a store whose clock the test sets.
func storeAt(t *testing.T, path string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// occupy keeps the writer in a transaction until release is called, so that
// what comes meanwhile gathers for the next one.
func occupy(t *testing.T, w *writer) (release func()) {
	t.Helper()
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		left <- w.run(context.Background(), func(*tx) error { close(entered); <-leave; return nil })
	}()
	<-entered
	return func() {
		close(leave)
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
}

func tokenSequence(t *testing.T, s *Store) (last int64) {
	t.Helper()
	if err := s.read.QueryRow(`SELECT last FROM tokens`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	return last
}

func add(n int) func(*tx) error {
	return func(x *tx) error { return x.exec(`UPDATE tokens SET last = last + ?`, n) }
}

func TestOneCallersErrorUndoesNothingOfItsNeighbours(t *testing.T) {
	s := storeAt(t, filepath.Join(t.TempDir(), "state.db"), nil)
	lost := state.LostLease(state.Lease{Thread: "t"}, "test")
	batch := []*job{
		{do: add(1), done: make(chan error, 1)},
		{do: func(x *tx) error { return errors.Join(add(10)(x), lost) }, done: make(chan error, 1)},
		{do: func(x *tx) error { return errors.Join(add(100)(x), kept{lost}) }, done: make(chan error, 1)},
		{do: func(x *tx) error { return x.exec(`INSERT INTO nowhere VALUES (1)`) }, done: make(chan error, 1)},
		{do: add(1000), done: make(chan error, 1)},
	}
	release := occupy(t, s.write) // the loop waits; its connection is ours meanwhile
	answers, err := s.write.execute(batch)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if got := tokenSequence(t, s); got != 1101 {
		t.Errorf("the sequence is %d, want 1101: the failed jobs undone, the kept error's not", got)
	}
	failed := []bool{}
	for _, err := range answers {
		failed = append(failed, err != nil)
	}
	if !slices.Equal(failed, []bool{false, true, true, true, false}) {
		t.Errorf("answers are %v", answers)
	}
	if !errors.Is(answers[1], state.ErrLeaseLost) || !errors.Is(answers[2], state.ErrLeaseLost) {
		t.Errorf("answers are %v", answers)
	}
}

func TestWhatWaitsIsGatheredUpToABound(t *testing.T) {
	w := &writer{jobs: make(chan *job, 2*maxBatch)}
	for range maxBatch + 2 {
		w.jobs <- &job{}
	}
	if got := len(w.gather(&job{})); got != maxBatch {
		t.Errorf("gathered %d jobs, want %d", got, maxBatch)
	}
	if got := len(w.gather(&job{})); got != 4 {
		t.Errorf("then gathered %d jobs, want the 3 that were left and the one in hand", got)
	}
}

func TestCallerWhoLeavesBeforeItsTurnWritesNothing(t *testing.T) {
	s := storeAt(t, filepath.Join(t.TempDir(), "state.db"), nil)
	release := occupy(t, s.write)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- s.write.run(ctx, add(1)) }()
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	release()
	if got := tokenSequence(t, s); got != 0 {
		t.Errorf("the sequence is %d, want 0", got)
	}
}

// lock holds the file's write lock as another process would.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	other := storeAt(t, path, nil)
	return occupy(t, other.write)
}

func TestWriteWaitsForAnotherProcessAndGivesUpInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := storeAt(t, path, &Options{Busy: 50 * time.Millisecond})
	patient := storeAt(t, path, nil)
	unlock := lock(t, path)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "no"}); code(err) != codeBusy {
		t.Errorf("error is %v, want busy", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := patient.CreateThread(ctx, state.NewThread{ID: "no"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the caller's deadline", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := patient.CreateThread(context.Background(), state.NewThread{ID: "yes"})
		done <- err
	}()
	unlock()
	if err := <-done; err != nil {
		t.Errorf("the patient writer: %v", err)
	}
	if _, err := s.Thread(t.Context(), "no"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("a write that failed is there (%v)", err)
	}
}

func TestReadsDoNotWaitForAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := storeAt(t, path, nil)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, path)
	defer unlock()
	if _, err := s.Load(t.Context(), "t", 0); err != nil {
		t.Error(err)
	}
}

func TestCloseAnswersThoseWhoWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock := lock(t, path)
	defer unlock()
	done := make(chan error, 1)
	go func() {
		_, err := s.CreateThread(context.Background(), state.NewThread{ID: "t"})
		done <- err
	}()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, os.ErrClosed) {
		t.Errorf("error is %v, want closed", err)
	}
}
