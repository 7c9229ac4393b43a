package view

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"junction/graph"
	"junction/router"
	"junction/state"
)

// Progress shows a run while it goes: on a terminal one line that is redrawn,
// elsewhere a plain line for each superstep, for what went wrong, and now and
// then for how far it has come.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer
	live    bool
	started time.Time
	step    int
	running map[string]string // task → what it does
	order   []string
	done    int
	planned int
	drawn   bool
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
func NewProgress(w io.Writer, live bool) *Progress {
	p := &Progress{w: w, live: live, started: time.Now(), running: map[string]string{}, stop: make(chan struct{})}
	p.ticking.Add(1)
	go p.tick()
	return p
}

func (p *Progress) tick() {
	defer p.ticking.Done()
	every := report
	if p.live {
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
			if p.live {
				p.draw()
			} else if p.planned > 0 {
				p.say("  %d/%d tasks after %s", p.done, p.planned, time.Since(p.started).Round(time.Second))
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
		p.step, p.done, p.planned = e.Step, 0, e.Tasks
		p.say("superstep %d: %s", e.Step, planned(e))
	case graph.EventTask:
		p.begin(e.Task, e.Node)
	case graph.EventTaskDone:
		delete(p.running, e.Task)
		p.done++
		if e.Err != nil && !cutShort(e.Err) {
			p.say("  %s failed: %s", label(e), line(e.Err.Error()))
		}
	case graph.EventRetry:
		p.say("  %s runs again (attempt %d): %s", label(e), e.Attempt, errorLine(e.Err))
	case graph.EventInterrupt:
		p.say("  %s asks", label(e))
	}
	p.draw()
}

func (p *Progress) begin(task, what string) {
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
	p.draw()
}

// OnOutcome says which attempts failed.
func (p *Progress) OnOutcome(h router.HopInfo, a router.AttemptInfo, o router.OutcomeInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// What cut a call short is told where it happened.
	if o.Status != state.CallSuccess && o.Status != state.CallCancelled {
		p.say("  %s: attempt %d at %s ended with %s after %s", h.Node, a.Attempt, Clean(a.Server), o.Code, took(o.Duration))
	}
	p.draw()
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
	p.draw()
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
	p.clear()
	if p.live && !strings.HasPrefix(format, "  ") {
		return
	}
	// A console that cannot be written to is no reason to stop the run.
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// draw shows the live line: superstep, tasks done, and what some are doing.
func (p *Progress) draw() {
	if !p.live {
		return
	}
	var doing []string
	kept := p.order[:0]
	for _, task := range p.order {
		if what, ok := p.running[task]; ok {
			kept = append(kept, task)
			if len(doing) < 2 {
				doing = append(doing, what)
			}
		}
	}
	p.order = kept
	text := fmt.Sprintf("superstep %d  %d/%d tasks  %s  %s", p.step, p.done, p.planned,
		time.Since(p.started).Round(100*time.Millisecond), strings.Join(doing, " · "))
	p.clear()
	fmt.Fprint(p.w, shorten(text, 110))
	p.drawn = true
}
