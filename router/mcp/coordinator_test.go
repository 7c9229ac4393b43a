package mcp

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

// The example of R26: idle 500 ms, maximum 2 s, progress at 400, 800 and 1,200.
func TestProgressSetsTheIdleClockBackAndNeverTheMaximum(t *testing.T) {
	begun := coordinator{id: 7, span: 500 * ms, idle: 500 * ms, maximum: 2000 * ms}
	for i, at := range []time.Duration{400, 800, 1200} {
		if kind := begun.progress(at*ms, 7, float64(i)); kind != noStray {
			t.Fatalf("progress at %d: %s", at, kind)
		}
	}
	t.Run("alive at 1,500", func(t *testing.T) {
		c := begun
		if c.tick(1500*ms) != noClock || c.answer(1500*ms, 7) != noStray {
			t.Errorf("%+v", c)
		}
	})
	t.Run("ended at 1,700 without more", func(t *testing.T) {
		c := begun
		if c.tick(1699*ms) != noClock || c.tick(1700*ms) != idleClock || c.phase != timedOut {
			t.Errorf("%+v", c)
		}
	})
	t.Run("ended at 2,000 though progress comes at 1,999", func(t *testing.T) {
		c := begun
		c.progress(1600*ms, 7, 3)
		if kind := c.progress(1999*ms, 7, 4); kind != noStray || c.due() != 2000*ms {
			t.Errorf("at 1,999: %s, due %v", kind, c.due())
		}
		if c.answer(2000*ms, 7) != LateAnswer || c.phase != timedOut || c.ranOut != maximumClock {
			t.Errorf("at 2,000: %+v", c)
		}
		if c.progress(2000*ms, 7, 5) != LateProgress {
			t.Error("progress revived it")
		}
	})
}

func TestTheIdleClockStandsStillWhileAPersonIsAsked(t *testing.T) {
	begin := func() *coordinator {
		c := &coordinator{span: 500 * ms, idle: 500 * ms, maximum: 2000 * ms}
		c.ask(400 * ms)
		return c
	}
	c := begin()
	c.ask(700 * ms) // a second question
	c.replied(800 * ms)
	if c.tick(900*ms) != noClock {
		t.Fatal("one of two answers let the clock run")
	}
	c.replied(1000 * ms)
	if c.tick(1099*ms) != noClock || c.tick(1100*ms) != idleClock {
		t.Errorf("what was left was 100 ms: %+v", c)
	}
	if c = begin(); c.tick(1999*ms) != noClock || c.tick(2000*ms) != maximumClock {
		t.Errorf("the maximum holds: %+v", c)
	}
	c = begin()
	c.progress(600*ms, 0, 1)
	c.replied(700 * ms)
	if c.due() != 1200*ms {
		t.Errorf("progress while a person is asked gives the whole span: %v", c.due())
	}
}

func TestTheCallersDeadlineStandsAboveBothClocks(t *testing.T) {
	c := coordinator{span: 500 * ms, idle: 500 * ms, maximum: 500 * ms, caller: 500 * ms}
	if c.tick(500*ms) != callerClock || c.ranOut != callerClock {
		t.Errorf("%+v", c)
	}
	passed := coordinator{span: 500 * ms, idle: 500 * ms, maximum: 500 * ms, caller: -1}
	if passed.leave(0) || passed.phase != timedOut {
		t.Errorf("a deadline that has passed lets nothing leave: %+v", passed)
	}
}

func TestReportsAreToldTenTimesASecondAtMost(t *testing.T) {
	c := coordinator{maximum: time.Hour}
	told := 0
	for at := time.Duration(0); at < 10*time.Second; at += ms {
		if c.progress(at, 0, float64(at)) != noStray {
			t.Fatal("it rises")
		}
		if c.tell(at) == 0 {
			told++
		}
	}
	if told != 100 {
		t.Errorf("told %d of 10,000 reports in 10 s", told)
	}
}

// event is one thing that happens to a request, after a pause.
type event struct {
	what  string
	after time.Duration
}

func (e event) String() string { return fmt.Sprintf("%s +%v", e.what, e.after) }

var happenings = []string{
	"leave", "rise", "fall", "wrong token", "answer", "wrong id", "cancel", "disconnect", "tick", "ask", "replied", "goesOn", "finish", "begin",
}

const (
	exploredSpan   = 500 * ms
	exploredMax    = 2000 * ms
	exploredCaller = 2500 * ms
)

// walk drives a coordinator through a schedule and holds it to its invariants,
// with a memory of its own.
type walk struct {
	c        coordinator
	at       time.Duration
	rewound  time.Duration // when the idle clock last began
	asking   int
	stoodAt  time.Duration // since when it stands still
	value    float64
	ends     int // final phases since the request began, or went on
	dead     bool
	left     bool
	answers  int // under the request's id
	messages int // answers and reports that came in
	accepted int
	kind     Stray // of the last message
	strays   map[Stray]int
}

func newWalk() *walk {
	return &walk{
		c:      coordinator{id: 1, span: exploredSpan, idle: exploredSpan, maximum: exploredMax, caller: exploredCaller},
		strays: map[Stray]int{},
	}
}

func (w *walk) step(e event) (fault string) {
	w.at += e.after
	was, idleEnd := w.c, w.idleEnd()
	w.do(e.what)
	return cmp.Or(w.judge(e.what, was), w.judgeMessage(e.what, was, idleEnd))
}

func (w *walk) do(what string) {
	c, at := &w.c, w.at
	switch what {
	case "leave":
		if c.leave(at) {
			w.left = true
		}
	case "rise":
		w.value++
		w.took(c.progress(at, c.id, w.value))
	case "fall":
		if c.risen { // nothing falls below nothing
			w.took(c.progress(at, c.id, w.value))
		}
	case "wrong token":
		w.took(c.progress(at, c.id+1, w.value+1))
	case "answer":
		w.answers++
		w.took(c.answer(at, c.id))
	case "wrong id":
		w.took(c.answer(at, c.id+1))
	case "cancel":
		c.cancel(at)
	case "disconnect":
		c.disconnect(at)
	case "tick":
		c.tick(at)
	case "ask":
		c.ask(at)
		w.asking++
	case "replied":
		if w.asking > 0 {
			c.replied(at)
			w.asking--
		}
	case "goesOn":
		c.goesOn(at)
	case "finish":
		c.finish(at)
	case "begin":
		id := c.id
		if c.begin(at, id+2); c.id != id {
			w.left, w.answers, w.value = false, 0, 0
		}
	}
}

func (w *walk) took(kind Stray) {
	w.messages++
	w.kind = kind
	if kind == noStray {
		w.accepted++
	} else {
		w.strays[kind]++
	}
}

// judge says which invariant a step broke; "": none.
func (w *walk) judge(what string, was coordinator) string {
	is := &w.c
	counted := w.accepted
	for _, n := range w.strays {
		counted += n
	}
	if is.phase != started && (was.phase == started || is.phase != was.phase) {
		w.ends++
	}
	afresh := what == "begin" && is.id != was.id || what == "goesOn" && was.phase == completed
	if afresh {
		w.ends = 0
		if is.phase != started {
			w.ends = 1
		}
	}
	switch {
	case w.ends > 1:
		return "two final phases"
	case was.phase != started && is.phase == started && !afresh:
		return "revived"
	case w.dead && (is.phase != cancelled && is.phase != timedOut || is.left && !was.left || is.id != was.id):
		return "something left, or began, after the end of the call"
	case counted != w.messages:
		return "a message is neither taken nor counted"
	case w.at >= exploredMax && is.phase == started && (what != "fall" || is.risen) && (what != "replied" || was.asking > 0):
		return "alive past the maximum"
	case is.due() > exploredMax || is.maximum != exploredMax || is.caller != exploredCaller:
		return "the maximum moved"
	case is.notice() != (w.left && w.answers == 0 && (is.phase == cancelled || is.phase == timedOut)):
		return "a notice for what was never sent, or none for what was"
	case is.phase == timedOut && was.phase == started && is.ranOut == noClock:
		return "timed out by no clock"
	}
	w.dead = is.phase == cancelled || is.phase == timedOut
	return ""
}

// judgeMessage holds what became of an answer or a report against what it was.
func (w *walk) judgeMessage(what string, was coordinator, idleEnd time.Duration) string {
	is := &w.c
	alive := was.phase == started && w.at < exploredMax && w.at < idleEnd
	switch what {
	case "answer":
		if won := is.phase == completed && was.phase == started; won != (alive && w.answers == 1) || won != (w.kind == noStray) {
			return fmt.Sprintf("the answer won: %v, the request was under way: %v", won, alive)
		}
		if w.answers > 1 != (w.kind == DuplicateAnswer) {
			return fmt.Sprintf("answer %d counts as %s", w.answers, w.kind)
		}
	case "wrong id", "wrong token", "fall":
		if is.phase == completed && was.phase != completed || is.due() > was.due() {
			return "a message that means nothing changed something"
		}
	case "rise":
		if alive {
			w.rewound = w.at
			if w.asking > 0 {
				w.stoodAt = w.at
			}
		} else if is.due() != was.due() {
			return "late progress moved a clock"
		}
	case "ask":
		if w.asking == 1 {
			w.stoodAt = w.at
		}
	case "replied":
		if w.asking == 0 && was.asking > 0 {
			w.rewound += w.at - w.stoodAt
		}
	}
	if is.phase == timedOut && was.phase == started && is.ranOut == idleClock && w.at < idleEnd {
		return "the idle clock ran out before its time"
	}
	return ""
}

// idleEnd is when the idle clock runs out, by the walk's own reckoning.
func (w *walk) idleEnd() time.Duration {
	if w.c.asking > 0 {
		return math.MaxInt64
	}
	return w.rewound + exploredSpan
}

func explore(t *testing.T, schedule []event) {
	w := newWalk()
	for i, e := range schedule {
		if fault := w.step(e); fault != "" {
			t.Fatalf("%s after %v: %+v", fault, schedule[:i+1], w.c)
		}
	}
}

// Every order of up to four happenings, with pauses that end a clock, nearly end
// it, or take no time; then long ones at random.
func TestNoScheduleEndsARequestTwiceOrSendsAfterItsEnd(t *testing.T) {
	length, random := 4, 100_000
	if testing.Short() {
		length, random = 3, 5_000
	}
	pauses := []time.Duration{0, 499 * ms, 501 * ms}
	var all []event
	for _, what := range happenings {
		for _, after := range pauses {
			all = append(all, event{what, after})
		}
	}
	explored := 0
	schedule := make([]event, length)
	var next func(place int)
	next = func(place int) {
		if place == length {
			explored++
			explore(t, schedule)
			return
		}
		for _, e := range all {
			schedule[place] = e
			next(place + 1)
		}
	}
	next(0)
	r := rand.New(rand.NewPCG(1, 2))
	for range random {
		long := make([]event, 5+r.IntN(40))
		for i := range long {
			long[i] = event{happenings[r.IntN(len(happenings))], time.Duration(r.IntN(300)) * ms}
		}
		explored++
		explore(t, long)
	}
	if !testing.Short() && explored < 100_000 {
		t.Errorf("only %d schedules", explored)
	}
	t.Logf("%d schedules", explored)
}
