package traces

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

type wantedKey struct{}

// ids are those that the next span of a context must have; a zero one is random.
type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIDs(ctx context.Context, want ids) context.Context {
	return context.WithValue(ctx, wantedKey{}, want)
}

// InTrace is ctx whose next root span begins, or joins, a trace.
func InTrace(ctx context.Context, id [16]byte) context.Context {
	return withIDs(ctx, ids{trace: id})
}

// generator gives spans the ids that their context asks for.
type generator struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (g generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	want, _ := ctx.Value(wantedKey{}).(ids)
	for !want.trace.IsValid() {
		read(want.trace[:])
	}
	return want.trace, g.NewSpanID(ctx, want.trace)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (generator) NewSpanID(ctx context.Context, in trace.TraceID) trace.SpanID {
	want, _ := ctx.Value(wantedKey{}).(ids)
	span := want.span
	if want.trace != in { // it was for a span of another trace
		span = trace.SpanID{}
	}
	for !span.IsValid() {
		read(span[:])
	}
	return span
}

func read(b []byte) {
	_, _ = rand.Read(b) // documented never to fail
}
