package bridge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"junction/router"
	"junction/state"
)

// step is one step of a walk; n chooses among what there is.
type step struct{ Kind, N int }

const (
	stepBegin = iota
	stepBeginAgain
	stepTake // a request that nobody waits for yet
	stepWait // somebody waits for those, the last first
	stepCancel
	stepAnswer
	stepNotExecuted
	stepBusy
	stepDie
	stepSwitch // the server refuses sessions, or no longer does
	stepPass
	stepKinds
)

// walk takes a line through steps, and notes what broke a rule.
type walk struct {
	t      *testing.T
	line   *Line
	server *scripted
	down   bool
	trials []*trial
	taken  []*trial // of them, those nobody waits for
	again  map[string]bool
	left   map[string]int // how often it had been sent when it was cancelled
	faults []string
}

const walkQueue = 3

func TestWhateverHappensEachRequestIsAnsweredOnceAndSentAsAllowed(t *testing.T) {
	t.Parallel()
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.IntRange(0, stepKinds-1).Draw(t, "kind"), rapid.IntRange(0, 11_999).Draw(t, "n")}
	}), 1, 60)
	rapid.Check(t, func(rt *rapid.T) {
		script := steps.Draw(rt, "steps")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = runWalk(t, script) })
		if len(faults) > 0 {
			rt.Fatalf("%v", faults)
		}
	})
}

func runWalk(t *testing.T, script []step) []string {
	l, s := lineTo(t, &LineOptions{Queue: walkQueue, Wait: time.Minute})
	w := &walk{t: t, line: l, server: s, again: map[string]bool{}, left: map[string]int{}}
	for _, st := range script {
		w.step(st)
		synctest.Wait()
	}
	w.heal()
	l.Close(context.Background())
	w.check()
	return w.faults
}

func (w *walk) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *walk) step(st step) {
	under := w.underWay()
	switch {
	case st.Kind == stepBegin || st.Kind == stepBeginAgain:
		w.begin(st.Kind == stepBeginAgain)
	case st.Kind == stepTake:
		w.take(st.N%2 == 0)
	case st.Kind == stepWait:
		w.wait()
	case st.Kind == stepCancel && len(w.trials) > 0:
		a := w.trials[st.N%len(w.trials)]
		if _, twice := w.left[a.method]; !twice && a.open() {
			w.left[a.method] = len(w.sendings(a.method))
			a.cancel()
			w.wait()
		}
	case st.Kind == stepDie:
		if all := w.server.all(); len(all) > 0 {
			all[len(all)-1].die("crashed")
		}
	case st.Kind == stepSwitch:
		if w.down = !w.down; w.down {
			w.server.refuses(always(refusal))
		} else {
			w.server.refuses(nil)
		}
	case st.Kind == stepPass:
		pass(time.Duration(st.N) * time.Millisecond)
	case len(under) == 0:
	case st.Kind == stepAnswer:
		c := under[st.N%len(under)]
		c.gets(says(c.method))
	case st.Kind == stepNotExecuted:
		under[st.N%len(under)].gets(fate{err: refusal})
	case st.Kind == stepBusy:
		under[st.N%len(under)].gets(fate{err: &router.CallError{
			Code: router.ServerOverload, Execution: state.NotExecuted, RetryAfter: time.Duration(st.N+1) * time.Millisecond,
		}})
	}
}

// gets is the server's answer, unless there is one that nobody has waited for yet.
func (c sending) gets(f fate) {
	select {
	case c.answer <- f:
	default:
	}
}

// begin makes a request, which is refused when the queue is full and else is not.
func (w *walk) begin(again bool) {
	before := w.line.Status()
	a := w.take(again)
	w.wait()
	full := before.State == Reconnecting && before.Queued >= walkQueue
	refused := !a.open() && a.got.err != nil && a.got.err.Code == router.ServerOverload
	if full != refused {
		w.fault("%s with %d in the queue: refused %t", a.method, before.Queued, refused)
	}
}

func (w *walk) take(again bool) *trial {
	a := taken(w.t, w.line, strconv.Itoa(len(w.trials)), again)
	w.trials, w.taken = append(w.trials, a), append(w.taken, a)
	w.again[a.method] = again
	return a
}

func (w *walk) wait() {
	for _, a := range slices.Backward(w.taken) {
		a.awaited()
	}
	w.taken = nil
}

// heal lets the server live and answer for as long as any request may wait.
func (w *walk) heal() {
	w.wait()
	w.server.refuses(nil)
	for range 70 {
		for _, c := range w.underWay() {
			c.gets(says(c.method))
		}
		pass(time.Second)
		synctest.Wait()
	}
	for _, a := range w.trials {
		if a.open() {
			w.fault("%s was not answered", a.method)
		}
	}
}

// underWay are the requests that wait for the server.
func (w *walk) underWay() (all []sending) {
	for _, v := range w.server.all() {
		for _, c := range v.entered() {
			if c.over.IsZero() {
				all = append(all, c)
			}
		}
	}
	return all
}

func (w *walk) sendings(method string) (all []sending) {
	for _, v := range w.server.all() {
		for _, c := range v.entered() {
			if c.method == method {
				all = append(all, c)
			}
		}
	}
	return all
}

func (w *walk) check() {
	for _, a := range w.trials {
		w.checkOutcome(a)
	}
	for n, v := range w.server.all() {
		last := -1
		for _, c := range v.entered() {
			place, _ := strconv.Atoi(c.method) //nolint:errcheck // it was made by Itoa
			if w.late(c, v) {
				continue
			}
			if place < last {
				w.fault("on session %d %s left after %d", n+1, c.method, last)
			}
			last = place
		}
	}
}

// late says whether c came back to the queue when v had begun, or rested: its place
// may be in the past.
func (w *walk) late(c sending, v *stand) bool {
	late := false
	for _, before := range w.sendings(c.method) {
		if before.answer == c.answer {
			break
		}
		late = !before.over.Before(v.began) || before.end.err != nil && before.end.err.Code == router.ServerOverload
	}
	return late
}

func (w *walk) checkOutcome(a *trial) {
	sent := w.sendings(a.method)
	if n, cancelled := w.left[a.method]; cancelled && len(sent) > n {
		w.fault("%s was sent after its cancel", a.method)
	}
	for i, c := range sent {
		if c.begun != nil {
			w.fault("%s was sent although its caller had left", a.method)
		}
		if i < len(sent)-1 {
			if e := c.end.err; e == nil || e.Execution != state.NotExecuted && !w.again[a.method] {
				w.fault("%s was sent again after %v", a.method, e)
			}
			continue
		}
		if _, cancelled := w.left[a.method]; !cancelled && (c.end.err == nil) != (a.got.err == nil) {
			w.fault("%s was answered %v, and its caller told %v", a.method, c.end, a.got)
		}
	}
	if e := a.got.err; e != nil && e.Execution == state.NotExecuted && unknownAmong(sent) {
		w.fault("%s may have been executed, and is said not to be: %v", a.method, e)
	}
	if len(sent) == 0 && (a.got.err == nil || a.got.err.Execution != state.NotExecuted) {
		w.fault("%s was never sent: %v", a.method, a.got)
	}
}

func unknownAmong(sent []sending) bool {
	for _, c := range sent {
		if c.end.err == nil || c.end.err.Execution != state.NotExecuted {
			return true
		}
	}
	return false
}
