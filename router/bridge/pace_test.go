package bridge

import (
	"testing"
	"time"
)

// The waits of these tests: 1 s after the first failure in a row, then 2, 3, …
func newPace() *pace {
	return &pace{delay: func(n int) time.Duration { return time.Duration(n) * time.Second }}
}

func TestOneAttemptIsMadeAtOnceInALongBackOffAndLeavesItAsItWas(t *testing.T) {
	t.Parallel()
	p, start := newPace(), time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for range 4 {
		p.began(at(0))
		p.failed(at(0), 0)
	}
	if p.prompt(at(999)) {
		t.Error("an attempt would follow the last within a second")
	}
	if !p.prompt(at(1000)) {
		t.Error("none is made after a second")
	}
	p.began(at(1000))
	p.failed(at(1100), 0)
	if p.next != at(4000) || p.failures != 4 {
		t.Errorf("the prompt attempt has moved the next to %s after %d failures", p.next.Sub(start), p.failures)
	}
	if p.prompt(at(2500)) {
		t.Error("a second one is made in the same back-off")
	}
	p.began(at(4000))
	p.failed(at(4000), 0)
	if p.prompt(at(8000)) {
		t.Error("one is made although the next is due in a second")
	}
	if !p.prompt(at(7999)) {
		t.Error("none is made in the next back-off")
	}
	p.began(at(7999))
	if p.failed(at(9000), 0); p.next != at(15_000) {
		t.Errorf("after an attempt that outlasted its back-off the next is at %s", p.next.Sub(start))
	}
}

func TestWhatAServerAsksForIsKeptWithinAnHour(t *testing.T) {
	t.Parallel()
	p, start := newPace(), time.Unix(0, 0)
	p.failed(start, 20*time.Second)
	if p.next != start.Add(20*time.Second) || p.prompt(start.Add(10*time.Second)) {
		t.Error("it is not left alone")
	}
	if p.failed(start, 48*time.Hour); p.next != start.Add(time.Hour) {
		t.Errorf("the next is after %s", p.next.Sub(start))
	}
	if p.failed(start, time.Second); p.next != start.Add(3*time.Second) {
		t.Errorf("what it asks for shortens the back-off to %s", p.next.Sub(start))
	}
}

func TestALossIsTheFirstFailureUnlessTheSessionWasBrief(t *testing.T) {
	t.Parallel()
	p, start := newPace(), time.Unix(0, 0)
	p.failed(start, 0)
	p.failed(start, 0)
	if p.lost(start, brief-1); p.next != start.Add(3*time.Second) {
		t.Errorf("after a brief one the next is after %s", p.next.Sub(start))
	}
	if p.lost(start, brief); p.next != start.Add(time.Second) {
		t.Errorf("after a long one the next is after %s", p.next.Sub(start))
	}
}
