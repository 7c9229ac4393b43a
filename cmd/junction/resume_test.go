package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"junction/state"
)

func TestWaitingForSomebodysRunIsSaidOnce(t *testing.T) {
	var errs bytes.Buffer
	tell := standBy(console{err: &errs}, "t")
	for remaining := range 5 {
		tell(time.Duration(remaining) * time.Second)
	}
	if n := strings.Count(errs.String(), "waiting until that has ended"); n != 1 {
		t.Errorf("said %d times:\n%s", n, errs.String())
	}
}

func TestABusyThreadSaysHowToWaitForItOrStopIt(t *testing.T) {
	r := runner{store: "redis://h:1", thread: "t"}
	var e *exitError
	if err := r.startError(&state.BusyError{Thread: "t"}); !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"junction resume t --store redis://h:1", "--busy queue", "--busy interrupt"} {
		if !strings.Contains(e.next, want) {
			t.Errorf("%q is missing in %q", want, e.next)
		}
	}
}
