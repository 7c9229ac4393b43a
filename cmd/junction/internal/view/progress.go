package view

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"junction/graph"
	"junction/router"
	"junction/state"
)

// Progress shows a run while it goes: on a terminal one line that is redrawn,
// elsewhere a plain line for each superstep, for what went wrong, and now and
// then for how far it has come. Both begin with the thread's id.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	width   func() int // of the terminal now; nil: there is none
	started time.Time
	step    int
	running map[string]string // task → what it does
	ended   map[string]bool   // tasks of this superstep: what is told of them later says nothing new
	order   []string
	done    int
	planned int
	drawn   bool
	named   bool // the thread has been introduced
	stop    chan struct{}
	closed  sync.Once
	ticking sync.WaitGroup
}

// How often the live line moves, and how often a plain one says how far it is.
const (
	redraw = 200 * time.Millisecond
	report = 5 * time.Second
)

// NewProgress returns a view on w; close it before anything else is printed.
// width tells how many columns the terminal behind w has at the moment; nil
// means that w is none.
func NewProgress(w io.Writer, width func() int) *Progress {
	p := &Progress{w: w, width: width, started: time.Now(), running: map[string]string{}, ended: map[string]bool{}, stop: make(chan struct{})}
	p.ticking.Add(1)
	go p.tick()
	return p
}

func (p *Progress) tick() {
	defer p.ticking.Done()
	every := report
	if p.width != nil {
		every = redraw
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			if p.width != nil {
				p.draw()
			} else if p.planned > 0 {
				p.say("  %d/%d tasks after %s%s", p.done, p.planned, time.Since(p.started).Round(time.Second), colon(p.doing(1)))
			}
			p.mu.Unlock()
		}
	}
}

// Close ends the view and clears its line.
func (p *Progress) Close() {
	p.closed.Do(func() {
		close(p.stop)
		p.ticking.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	})
}

// Event takes one event of the run's stream.
func (p *Progress) Event(e graph.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case graph.EventStep:
		p.introduce(e.Thread)
		p.step, p.done, p.planned = e.Step, 0, e.Tasks
		clear(p.running)
		clear(p.ended)
		p.order = p.order[:0]
		p.say("superstep %d: %s", e.Step, planned(e))
	case graph.EventTask:
		p.begin(e.Task, e.Node)
	case graph.EventTaskDone:
		delete(p.running, e.Task)
		p.ended[e.Task] = true
		p.done++
		if e.Err != nil && !cutShort(e.Err) {
			p.say("  %s failed: %s", label(e), line(e.Err.Error()))
		}
	case graph.EventRetry:
		p.say("  %s runs again (attempt %d): %s", label(e), e.Attempt, errorLine(e.Err))
	case graph.EventLargeWrite:
		if w, ok := e.Value.(graph.LargeWrite); ok {
			p.say("  %s wrote %.1f MiB to %s: so large a value slows a thread down; keep what is large in files and pass paths", label(e), float64(w.Bytes)/(1<<20), w.Channel)
		}
	case graph.EventInterrupt:
		if i, ok := e.Value.(state.Interrupt); ok && i.Live {
			p.say("  %s: a call waits for an answer: %s", label(e), questionText(i.Value))
			p.say("    from another terminal: junction resume %s --answer %s='%s'", e.Thread, i.ID, liveAnswer)
			return
		}
		p.say("  %s asks", label(e))
	}
}

// liveAnswer is what an answer to a server's question looks like.
const liveAnswer = `{"content": {…}}`

// introduce names the thread once, at its beginning: whoever kills the process
// can go on with it.
func (p *Progress) introduce(thread string) {
	if p.named || thread == "" {
		return
	}
	p.named = true
	p.clear()
	fmt.Fprintf(p.w, "thread %s\n", thread)
}

func (p *Progress) begin(task, what string) {
	if p.ended[task] {
		return
	}
	if _, known := p.running[task]; !known {
		p.order = append(p.order, task)
	}
	p.running[task] = what
}

// OnDecision implements router.Observer; explain shows decisions.
func (p *Progress) OnDecision(router.HopInfo, router.Decision) {}

// OnAttempt shows where a request goes.
func (p *Progress) OnAttempt(h router.HopInfo, a router.AttemptInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(h.Task, h.Node+" at "+Clean(a.Server))
}

// OnOutcome says which attempts failed.
func (p *Progress) OnOutcome(h router.HopInfo, a router.AttemptInfo, o router.OutcomeInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch o.Status {
	case state.CallSuccess, state.CallWaiting, state.CallCancelled:
		// A question is told as one, and what cut a call short where it happened.
	default:
		p.say("  %s: attempt %d at %s ended with %s after %s", h.Node, a.Attempt, Clean(a.Server), o.Code, took(o.Duration))
	}
}

// OnProgress shows what a server says of a call under way.
func (p *Progress) OnProgress(h router.HopInfo, a router.AttemptInfo, told router.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := shorten(line(told.Message), 30)
	if told.Total > 0 {
		text = fmt.Sprintf("%.0f%% %s", 100*told.Progress/told.Total, text)
	}
	p.begin(h.Task, fmt.Sprintf("%s at %s %s", h.Node, Clean(a.Server), text))
}

// OnGap says that this output is too slow to show everything.
func (p *Progress) OnGap(lost int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say("  %d events of calls are not shown, since this output is slow; all of them are recorded", lost)
}

// cutShort reports whether a task ended because something else did.
func cutShort(err error) bool {
	return errors.Is(err, state.ErrDraining) || errors.Is(err, graph.ErrInterrupt) ||
		state.FailureOf(err).Code == string(router.Cancelled)
}

func label(e graph.Event) string {
	if e.Index > 0 {
		return fmt.Sprintf("%s[%d]", e.Node, e.Index)
	}
	return e.Node
}

func errorLine(err error) string {
	if err == nil {
		return ""
	}
	return line(err.Error())
}

// planned names a superstep's nodes, and says how many tasks they are.
func planned(e graph.Event) string {
	names := strings.Join(e.Nodes, ", ")
	if e.Tasks > len(e.Nodes) {
		names += fmt.Sprintf(" (%d tasks)", e.Tasks)
	}
	return names
}

// say prints a line that stays. On a terminal only what went wrong does.
func (p *Progress) say(format string, args ...any) {
	if p.width != nil && !strings.HasPrefix(format, "  ") {
		return
	}
	p.clear()
	// A console that cannot be written to is no reason to stop the run.
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// draw shows the live line: superstep, tasks done, and what some are doing. It
// stays on one row, for clear reaches no other; only the tick draws, so that a
// fan-out of thousands costs no more than a single task.
func (p *Progress) draw() {
	text := fmt.Sprintf("superstep %d  %d/%d tasks  %s  %s", p.step, p.done, p.planned,
		time.Since(p.started).Round(100*time.Millisecond), p.doing(2))
	p.clear()
	fmt.Fprint(p.w, fit(text, p.width()-1))
	p.drawn = true
}

// doing names what the oldest running tasks are at, no more than most of them.
func (p *Progress) doing(most int) string {
	var doing []string
	kept := p.order[:0]
	for _, task := range p.order {
		what, running := p.running[task]
		if !running {
			continue
		}
		kept = append(kept, task)
		if len(doing) < most {
			doing = append(doing, what)
		}
	}
	p.order = kept
	return strings.Join(doing, " · ")
}

// fit cuts s to a number of terminal columns. A character beyond the Latin,
// Greek, Cyrillic and Semitic scripts is taken to be two wide: a line too short
// does no harm, one too long wraps.
func fit(s string, columns int) string {
	used := 0
	for i, r := range s {
		w := 1
		if r >= 0x1100 && r != '…' {
			w = 2
		}
		if used+w > columns-1 && i+utf8.RuneLen(r) < len(s) || used+w > columns {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}
