package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flushTime bounds how long what is left may take to leave when the process ends.
const flushTime = 3 * time.Second

// scope names who makes the spans.
const scope = "junction"

// Tracer makes spans. It is safe for concurrent use. Close it.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns a tracer whose spans go to a processor; ids and the sampler are those
// of this package and of the environment.
func New(to sdktrace.SpanProcessor, about *resource.Resource) *Tracer {
	if about == nil {
		about = resource.Empty()
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithIDGenerator(generator{}), sdktrace.WithResource(about))
	return &Tracer{provider: p, tracer: p.Tracer(scope)}
}

// FromEnv returns the tracer that the standard OTEL_… variables ask for; nil where
// they name no endpoint, or turn it off. service is the name that OTEL_SERVICE_NAME
// replaces. An endpoint that cannot be reached is told of once in log and is no
// error: nothing waits for it.
func FromEnv(ctx context.Context, service, version string, log *slog.Logger) (*Tracer, error) {
	if !wanted() {
		return nil, nil
	}
	if p := protocol(); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q: traces leave by http/protobuf only", p)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err), exporter.Shutdown(ctx))
	}
	return New(sdktrace.NewBatchSpanProcessor(&telling{SpanExporter: exporter, log: log}), about), nil
}

// wanted reports whether the environment asks for traces.
func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func protocol() string {
	if p := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"); p != "" {
		return p
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
}

// Close sends what is left, within a bound, and ends the tracer. A nil tracer has
// nothing to send.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Start begins a span below that of ctx.
func (t *Tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, o...)
}

// telling is an exporter whose first failure in a row is logged: a collector that is
// away must neither flood the log nor go unnoticed. What could not be sent is lost.
type telling struct {
	sdktrace.SpanExporter
	log  *slog.Logger // nil: nobody is told
	away atomic.Bool
}

func (e *telling) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch was := e.away.Swap(err != nil); {
	case e.log == nil || was == (err != nil):
	case err != nil:
		e.log.Warn("traces cannot be sent, and are lost until they can", "error", err)
	default:
		e.log.Info("traces are sent again")
	}
	return nil //nolint:nilerr // it has been told; the library would print it for each batch
}
