package sqlite_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"junction/state"
	"junction/state/sqlite"
)

// childRole names what a process started by a test does instead of testing.
const childRole = "SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	verify(m)
}

// child holds a lease, or commits until it is killed, and tells when it began.
func child(role, path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := s.Acquire(ctx, "t", "child", time.Hour)
	if err != nil {
		return err
	}
	fmt.Println("holding")
	if role == "hold" {
		select {}
	}
	for parent := int64(1); ; parent++ {
		item := json.RawMessage(fmt.Sprint(parent))
		if _, err := s.Commit(ctx, state.Commit{Lease: l, Parent: parent, Status: state.StatusRunning, Append: map[string][]json.RawMessage{"log": {item}}}); err != nil {
			return err
		}
		fmt.Println(parent)
	}
}

// startChild starts a process of a role and waits for its first line.
func startChild(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "holding" {
		t.Fatalf("child says %q (%v)", lines.Text(), lines.Err())
	}
	return cmd, lines
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the killed child ended with %v", err)
	}
}

func TestLeaseOfADeadProcessIsFreeAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("on Windows a lease ends with its time")
	}
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t"}); err != nil {
		t.Fatal(err)
	}
	cmd, _ := startChild(t, "hold", path)
	if _, err := s.Acquire(t.Context(), "t", "parent", time.Second); !errors.Is(err, state.ErrBusy) {
		t.Fatalf("error is %v while the owner lives", err)
	}
	if err := s.DeleteThread(t.Context(), "t"); !errors.Is(err, state.ErrBusy) {
		t.Fatalf("deleting: %v while the owner lives", err)
	}
	kill(t, cmd)
	l, err := s.Acquire(t.Context(), "t", "parent", time.Second)
	if err != nil {
		t.Fatalf("the owner is dead, its lease of an hour is not: %v", err)
	}
	if l.Token != 2 {
		t.Errorf("token is %d, want 2", l.Token)
	}
}

func TestKilledInMidCommitTheFileIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	if _, err := s.CreateThread(t.Context(), state.NewThread{ID: "t", Append: map[string][]json.RawMessage{"log": nil}}); err != nil {
		t.Fatal(err)
	}
	cmd, lines := startChild(t, "commit", path)
	var told int
	for told < 20 && lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &told); err != nil {
			t.Fatal(err)
		}
	}
	kill(t, cmd)
	snap, err := open(t, path).Load(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	log := snap.Logs["log"]
	if len(log) < told || int64(len(log)) != snap.Seq-1 {
		t.Fatalf("%d items at checkpoint %d, the child told of %d", len(log), snap.Seq, told)
	}
	for i, v := range log {
		if string(v) != fmt.Sprint(i+1) {
			t.Fatalf("item %d is %s", i, v)
		}
	}
}

func TestTwoOpenersOfANewFileAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	done := make(chan error)
	for i := range 4 {
		go func() {
			s, err := sqlite.Open(t.Context(), path, nil)
			if err == nil {
				_, err = s.CreateThread(t.Context(), state.NewThread{ID: fmt.Sprint("t", i)})
				err = errors.Join(err, s.Close())
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	ths, err := open(t, path).Threads(t.Context(), state.ThreadFilter{})
	if err != nil || len(ths) != 4 {
		t.Errorf("%d threads (%v), want 4", len(ths), err)
	}
}

func TestTwoStoresOnOneFileLoseNoWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	stores := []*sqlite.Store{open(t, path), open(t, path)}
	const steps = 25
	done := make(chan error)
	for i, s := range stores {
		a := newAppending(t, s, fmt.Sprint("t", i))
		go func() {
			var err error
			for range steps {
				err = errors.Join(err, a.step(t.Context()))
			}
			done <- err
		}()
	}
	for range stores {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for i := range stores {
		snap, err := stores[1-i].Load(t.Context(), fmt.Sprint("t", i), 0)
		if err != nil || len(snap.Logs["log"]) != steps {
			t.Errorf("thread %d has %d items (%v), want %d", i, len(snap.Logs["log"]), err, steps)
		}
	}
}
