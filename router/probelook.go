package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"junction/health"
	"junction/state/value"
)

// finding is what one probe brought.
type finding struct {
	began, ended time.Time
	says         health.Outcome
	fault        string
	timedOut     bool
	rest         time.Duration // that the server asked to be left alone for
	void         bool          // it was cut short by us
}

// look makes one probe. It has clocks of its own, which end it whatever the caller does.
func (p *prober) look(ctx context.Context, t target, timeout time.Duration) (f finding) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	f = finding{began: time.Now(), says: health.Success}
	err := p.ask(within, t, timeout)
	f.ended = time.Now()
	if err == nil {
		return f
	}
	f.void = ctx.Err() != nil
	f.fault, f.says = err.Error(), health.Failure
	own := new(toolError)
	failed, is := errors.AsType[*CallError](err)
	switch {
	case errors.As(err, &own):
		f.says = health.ToolError
	case within.Err() != nil || is && failed.Code == Timeout:
		f.timedOut, f.fault = true, fmt.Sprintf("no answer within %s", timeout)
	case is:
		f.says = blameOf(failed)
		if t.by != ByHandshake { // whose back-off is the caller's
			f.rest = min(failed.RetryAfter, longestRest)
		}
	}
	return f
}

// toolError is a tool's own error: the server did its part.
type toolError struct{ text string }

func (e *toolError) Error() string { return "the tool's own error: " + e.text }

func (p *prober) ask(ctx context.Context, t target, timeout time.Duration) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &CallError{Code: ServerError, Message: fmt.Sprintf("a fault of ours while probing: %v", fault), Err: fmt.Errorf("%v\n%s", fault, debug.Stack())}
		}
	}()
	s := t.known.server
	switch t.by {
	case ByHandshake:
		return p.r.roster.gather(ctx, []*Server{s}, func(*known) bool { return false }, timeout).all[0].err
	case ByPing:
		return p.r.caller.(Pinger).Ping(ctx, s)
	}
	arguments, _ := value.Clone(t.arguments).(map[string]any)
	call := ToolCall{Tool: t.tool, Arguments: arguments, Idle: timeout, Max: timeout}
	result, err := p.r.caller.Call(ctx, s, call)
	switch {
	case err != nil:
		return err
	case result == nil:
		return &CallError{Code: OutputInvalid, Message: "the server answered nothing"}
	case result.IsError:
		return &toolError{some([]string{result.Text})}
	}
	return nil
}

// conclude draws what follows from a probe.
func (p *prober) conclude(key probeKey, pr *probe, f finding, timeout time.Duration) {
	p.mu.Lock()
	if f.void || p.life.Err() != nil || p.probes[key] != pr { // or the server has left
		p.mu.Unlock()
		return
	}
	pr.due = f.ended.Add(p.jittered(p.o.Every))
	pr.last = ProbeReading{At: f.ended, Took: f.ended.Sub(f.began), By: pr.by, Fault: f.fault}
	var v *health.Verdict
	switch {
	case f.says == health.Success:
		v = &health.Verdict{Well: true, Vouches: pr.by == ByTool || pr.strikes > 0}
		pr.strikes, pr.patience, pr.learned, pr.silent = 0, 0, pr.last.Took, time.Time{}
	case p.worked(pr, f.ended).After(f.began):
		pr.proven(p.worked(pr, f.ended))
		pr.extend(f, timeout, p.limit())
	case f.timedOut && p.calling(pr, f.ended): // it may be busy with them, and their own clocks judge it
		pr.extend(f, timeout, p.limit())
	case f.says == health.Failure:
		pr.strikes++
		pr.extend(f, timeout, p.limit())
		v = &health.Verdict{Hold: p.hold(pr, f, timeout)}
	case f.says == health.ToolError:
		pr.strikes = 0 // there is an answer
	}
	well, series := pr.last.Well(), p.series(pr, f.ended)
	p.mu.Unlock()
	for _, s := range series {
		if v != nil {
			s.Probed(f.ended, *v)
		}
		if f.rest > 0 {
			s.Rest(f.ended, f.ended.Add(f.rest))
		}
	}
	if v != nil && v.Well {
		p.r.freed.send() // who waits for a server may have one
	}
	p.told(key.server, well)
}

// extend gives the next probe more time after one that had too little.
func (pr *probe) extend(f finding, timeout, limit time.Duration) {
	if f.timedOut {
		pr.patience = min(2*timeout, limit)
	}
}

// hold is for how long the server is left alone after a strike: until after the next
// probe, or not at all. One that is only silent may be slower than any probe waits for:
// once in a while a call is let through, whose clocks are longer. p.mu is held.
func (p *prober) hold(pr *probe, f finding, timeout time.Duration) time.Duration {
	if pr.strikes < p.o.Strikes || p.o.Every <= 0 || pr.by == ByHandshake {
		return 0
	}
	switch {
	case !f.timedOut:
		pr.silent = time.Time{}
	case pr.silent.IsZero():
		pr.silent = f.ended
	case timeout >= p.limit() && f.ended.Sub(pr.silent) >= trialEvery:
		pr.silent = f.ended
		return 0
	}
	return 2*p.o.Every + p.timeout(pr, f.ended)
}

// Probe probes every server that there is a connection to, once and now, and returns when
// that is done or ctx ends. The findings are in [Router.Health].
func (r *Router) Probe(ctx context.Context) {
	p := r.probes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	by := map[string][]probeKey{}
	p.mu.Lock()
	p.survey(time.Now())
	for key, pr := range p.probes {
		if pr.by != ByHandshake {
			by[key.server] = append(by[key.server], key)
		}
	}
	p.mu.Unlock()
	room := make(chan struct{}, mostProbes)
	var all sync.WaitGroup
	for server, keys := range by {
		all.Go(func() {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-room }()
			for _, key := range keys {
				p.probeNow(ctx, server, key)
			}
		})
	}
	all.Wait()
}

// probeNow makes one probe, unless one to the server is under way.
func (p *prober) probeNow(ctx context.Context, server string, key probeKey) {
	p.mu.Lock()
	pr := p.probes[key]
	if pr == nil || p.busy[server] || ctx.Err() != nil {
		p.mu.Unlock()
		return
	}
	timeout := p.timeout(pr, time.Now())
	p.begin(server, false)
	t := pr.target
	p.mu.Unlock()
	defer p.done(server, false)
	p.conclude(key, pr, p.look(ctx, t, timeout), timeout)
}
