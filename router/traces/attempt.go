package traces

import (
	"context"
	"errors"
	"maps"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"junction/router"
)

// Names of attributes.
const (
	Thread     = attribute.Key("junction.thread")
	Workflow   = attribute.Key("junction.workflow")
	Status     = attribute.Key("junction.status")
	Step       = attribute.Key("junction.superstep")
	Node       = attribute.Key("junction.node")
	Index      = attribute.Key("junction.node.index")
	Capability = attribute.Key("junction.capability")
	Hop        = attribute.Key("junction.hop")
	Server     = attribute.Key("junction.server")
	Tool       = attribute.Key("junction.tool")
	Attempt    = attribute.Key("junction.attempt")
	Effect     = attribute.Key("junction.effect")
	Code       = attribute.Key("junction.code")
	Execution  = attribute.Key("junction.execution")
	ToolError  = attribute.Key("junction.tool_error")
	Replayed   = attribute.Key("junction.replayed")
	method     = attribute.Key("mcp.method.name")
)

const toolsCall = "tools/call"

// format is how trace contexts are written (W3C, level 1).
var format = propagation.TraceContext{}

// Attempt begins the span of a call, with the id that the router gave it, and says in
// the call's _meta whether it is recorded. Where the call is no attempt of a hop, but
// a question about one, the span has an id of its own. end gets what the caller
// returned.
func (t *Tracer) Attempt(ctx context.Context, s *router.Server, c *router.ToolCall) (within context.Context, end func(*router.ToolResult, error)) {
	hop, at, ofHop := router.AttemptFrom(ctx)
	given := remote(c.Meta)
	if ofHop && given.IsValid() {
		ctx = withIDs(ctx, ids{given.TraceID(), given.SpanID()})
	}
	about := []attribute.KeyValue{method.String(toolsCall), Server.String(s.ID), Tool.String(c.Tool)}
	if ofHop {
		about = append(about, Capability.String(hop.Capability), Hop.String(hop.Hop), Attempt.Int(at.Attempt), Effect.String(string(at.Effect)))
	}
	within, span := t.Start(ctx, toolsCall+" "+c.Tool, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(about...))
	tell(within, c)
	within = withIDs(within, ids{}) // they were for this span alone
	return within, func(r *router.ToolResult, err error) {
		defer span.End()
		if err != nil {
			failed(span, err)
		} else if r != nil && r.IsError {
			span.SetAttributes(ToolError.Bool(true))
		}
	}
}

// failed says of a span that it failed, and how in one word.
func failed(span trace.Span, err error) {
	code := "error"
	if e, is := errors.AsType[*router.CallError](err); is {
		code = string(e.Code)
		span.SetAttributes(Execution.String(string(e.Execution)))
	}
	span.SetAttributes(Code.String(code))
	span.SetStatus(codes.Error, code)
}

// remote is the span that _meta names.
func remote(meta map[string]any) trace.SpanContext {
	parent, _ := meta[router.TraceParent].(string)
	carried := propagation.MapCarrier{router.TraceParent: parent}
	return trace.SpanContextFromContext(format.Extract(context.Background(), carried))
}

// tell writes the span of ctx into the call's _meta.
func tell(ctx context.Context, c *router.ToolCall) {
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	parent := carrier.Get(router.TraceParent)
	if parent == "" || parent == c.Meta[router.TraceParent] {
		return
	}
	meta := make(map[string]any, len(c.Meta)+1)
	maps.Copy(meta, c.Meta)
	meta[router.TraceParent] = parent
	c.Meta = meta
}

// Received begins the span of a call that a server was asked for, below the one that
// the call's _meta names. end is told whether it failed.
func (t *Tracer) Received(ctx context.Context, tool string, meta map[string]any) (within context.Context, end func(failed bool)) {
	if parent := remote(meta); parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	within, span := t.Start(ctx, toolsCall+" "+tool, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(method.String(toolsCall), Tool.String(tool)))
	return within, func(failed bool) {
		if failed {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
