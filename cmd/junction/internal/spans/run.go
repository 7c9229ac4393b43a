// Package spans follows runs of threads with spans: run, superstep, node, hop. What
// is below a hop is package traces'.
package spans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"junction/graph"
	"junction/router"
	"junction/router/traces"
	"junction/state"
)

// Spans makes spans with a tracer. A nil *Spans makes none.
type Spans struct{ tracer *traces.Tracer }

// New returns spans; nil for a nil tracer.
func New(t *traces.Tracer) *Spans {
	if t == nil {
		return nil
	}
	return &Spans{t}
}

type runKey struct{}

// run is one run of a thread. Its events come one at a time, while nodes look up
// their spans.
type run struct {
	tracer   *traces.Tracer
	workflow string
	began    time.Time
	outside  context.Context // that the run was given

	mu    sync.Mutex
	whole context.Context // of the run's span; nil: not begun
	step  context.Context // of the superstep's span; nil: none under way
	tasks map[string]context.Context
}

// Run follows one run of a thread: the run gets ctx, its events go to on, and then
// to next (nil: nobody), and end is told what became of it. The span begins with the
// first event, which names the thread.
func (s *Spans) Run(ctx context.Context, workflow string, next func(graph.Event)) (within context.Context, on func(graph.Event), end func(graph.Result, error)) {
	if s == nil {
		return ctx, next, func(graph.Result, error) {}
	}
	r := &run{tracer: s.tracer, workflow: workflow, began: time.Now(), outside: ctx, tasks: map[string]context.Context{}}
	on = func(e graph.Event) {
		r.event(e)
		if next != nil {
			next(e)
		}
	}
	return context.WithValue(ctx, runKey{}, r), on, r.end
}

func (r *run) event(e graph.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		r.begin(e.Thread)
	}
	switch e.Kind {
	case graph.EventStep:
		r.endStep()
		r.step, _ = r.tracer.Start(r.whole, "superstep", trace.WithTimestamp(e.Time), trace.WithAttributes(traces.Step.Int(e.Step)))
	case graph.EventTask:
		r.tasks[e.Task], _ = r.tracer.Start(r.within(), "node "+e.Node, trace.WithTimestamp(e.Time),
			trace.WithAttributes(traces.Node.String(e.Node), traces.Index.Int(e.Index), traces.Step.Int(e.Step)))
	case graph.EventTaskDone:
		if of := r.tasks[e.Task]; of != nil {
			delete(r.tasks, e.Task)
			finish(of, e.Err, trace.WithTimestamp(e.Time))
		}
	case graph.EventRetry:
		if of := r.tasks[e.Task]; of != nil {
			trace.SpanFromContext(of).AddEvent("retry", trace.WithTimestamp(e.Time), trace.WithAttributes(traces.Code.String(state.FailureOf(e.Err).Code)))
		}
	case graph.EventInterrupt:
		trace.SpanFromContext(r.within()).AddEvent("interrupt", trace.WithTimestamp(e.Time), trace.WithAttributes(traces.Node.String(e.Node)))
	case graph.EventCheckpoint:
		r.endStep(trace.WithTimestamp(e.Time))
	}
}

// begin starts the run's span in its thread's trace. r.mu is held.
func (r *run) begin(thread string) {
	r.whole, _ = r.tracer.Start(traces.InTrace(r.outside, router.TraceID(thread)), "run "+r.workflow, trace.WithTimestamp(r.began),
		trace.WithNewRoot(), trace.WithAttributes(traces.Thread.String(thread), traces.Workflow.String(r.workflow)))
}

// within is the innermost span that holds tasks. r.mu is held.
func (r *run) within() context.Context {
	if r.step != nil {
		return r.step
	}
	return r.whole
}

// endStep ends the superstep under way, with what its abandoned tasks left.
// r.mu is held.
func (r *run) endStep(o ...trace.SpanEndOption) {
	for id, of := range r.tasks {
		delete(r.tasks, id)
		trace.SpanFromContext(of).End(o...)
	}
	if r.step != nil {
		trace.SpanFromContext(r.step).End(o...)
		r.step = nil
	}
}

func (r *run) end(res graph.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole == nil {
		return // nothing was begun
	}
	r.endStep()
	trace.SpanFromContext(r.whole).SetAttributes(traces.Status.String(string(res.Status)))
	if err == nil && res.Status == state.StatusFailed {
		err = res.Err
	}
	finish(r.whole, err)
}

// of is the span of a task, or what it is part of.
func (r *run) of(task string) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.tasks[task] != nil:
		return r.tasks[task]
	case r.whole == nil:
		return r.outside
	}
	return r.within()
}

// finish ends a span; of an error it keeps the code alone.
func finish(of context.Context, err error, o ...trace.SpanEndOption) {
	span := trace.SpanFromContext(of)
	if err != nil {
		code := state.FailureOf(err).Code
		span.SetStatus(codes.Error, code)
		span.SetAttributes(traces.Code.String(code))
	}
	span.End(o...)
}

// attributes leaves out those that say nothing.
func attributes(all ...attribute.KeyValue) []attribute.KeyValue {
	some := all[:0]
	for _, a := range all {
		if a.Value.AsString() != "" || a.Value.Type() != attribute.STRING {
			some = append(some, a)
		}
	}
	return some
}
