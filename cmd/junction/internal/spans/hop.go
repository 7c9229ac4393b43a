package spans

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"junction/graph/workflow"
	"junction/router"
	"junction/router/mcp"
	"junction/router/traces"
	"junction/state"
)

// Tools makes a span of each hop that is made with t.
func (s *Spans) Tools(t workflow.Tools) workflow.Tools {
	if s == nil {
		return t
	}
	return &tools{s.tracer, t}
}

type tools struct {
	tracer *traces.Tracer
	next   workflow.Tools
}

// Do implements [workflow.Tools].
func (t *tools) Do(ctx context.Context, c state.Call) (state.Answer, error) {
	what, kind := c.Capability, "hop "
	if what == "" {
		what = c.Tool
	}
	if c.RouteOnly {
		kind = "route "
	}
	var scope state.Scope
	if j := state.JournalFrom(ctx); j != nil {
		scope = j.Scope()
	}
	if r, _ := ctx.Value(runKey{}).(*run); r != nil {
		ctx = trace.ContextWithSpan(ctx, trace.SpanFromContext(r.of(scope.Task)))
	}
	within, span := t.tracer.Start(ctx, kind+what, trace.WithAttributes(attributes(traces.Capability.String(c.Capability), traces.Tool.String(c.Tool),
		traces.Thread.String(scope.Thread), traces.Node.String(scope.Node))...))
	a, err := t.next.Do(within, c)
	if err == nil {
		span.SetAttributes(attributes(traces.Hop.String(a.Hop), traces.Server.String(a.Server), traces.Tool.String(a.Tool),
			traces.ToolError.Bool(a.IsError), traces.Replayed.Bool(a.Replayed))...)
	}
	finish(within, err)
	return a, err
}

// Caller makes a span of each attempt that is made with c, and keeps all that c can
// do beside.
func (s *Spans) Caller(c *mcp.Client) router.Caller {
	if s == nil {
		return c
	}
	return &caller{c, s.tracer}
}

type caller struct {
	*mcp.Client
	tracer *traces.Tracer
}

// Call implements [router.Caller]. A probe is part of no hop, and of no trace.
func (c *caller) Call(ctx context.Context, s *router.Server, call router.ToolCall) (*router.ToolResult, error) {
	if _, _, ofHop := router.AttemptFrom(ctx); !ofHop && !trace.SpanContextFromContext(ctx).IsValid() {
		return c.Client.Call(ctx, s, call)
	}
	ctx, end := c.tracer.Attempt(ctx, s, &call)
	r, err := c.Client.Call(ctx, s, call)
	end(r, err)
	return r, err
}
