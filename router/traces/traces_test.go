package traces_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"junction/router"
	"junction/router/traces"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func kept(t *testing.T) (*traces.Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	to := tracetest.NewInMemoryExporter()
	tr := traces.New(sdktrace.NewSimpleSpanProcessor(to), nil)
	t.Cleanup(func() {
		if err := tr.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tr, to
}

func TestAServersSpanIsBelowTheAttemptThatTheCallNames(t *testing.T) {
	tr, to := kept(t)
	for _, given := range []map[string]any{
		{"traceparent": parent}, nil, {"traceparent": 7}, {"traceparent": "00-zz"}, {"traceparent": parent + "-" + strings.Repeat("x", 1<<16)},
	} {
		_, end := tr.Received(t.Context(), "review", given)
		end(given == nil)
	}
	for i, s := range to.GetSpans() {
		if s.SpanKind != trace.SpanKindServer || s.Name != "tools/call review" {
			t.Errorf("span %d is %s of kind %s", i, s.Name, s.SpanKind)
		}
		if below := s.Parent.SpanID().String() == "b7ad6b7169203331" && s.SpanContext.TraceID().String() == "0af7651916cd43dd8448eb211c80319c"; below != (i == 0) {
			t.Errorf("span %d is below %s of %s", i, s.Parent.SpanID(), s.Parent.TraceID())
		}
		if failed := s.Status.Code == codes.Error; failed != (i == 1) {
			t.Errorf("span %d: failed %t", i, failed)
		}
	}
}

// The router asks a ledger about an attempt under the attempt's own trace context:
// two spans of one id would be one.
func TestAQuestionAboutAnAttemptHasASpanOfItsOwn(t *testing.T) {
	tr, to := kept(t)
	call := router.ToolCall{Tool: "verify", Meta: map[string]any{"traceparent": parent, "kept": true}}
	meta := call.Meta
	_, end := tr.Attempt(t.Context(), &router.Server{ID: "a"}, &call)
	end(nil, nil)
	s := to.GetSpans()[0]
	if s.SpanContext.SpanID().String() == "b7ad6b7169203331" {
		t.Error("it has the attempt's id")
	}
	if want := "00-" + s.SpanContext.TraceID().String() + "-" + s.SpanContext.SpanID().String() + "-01"; call.Meta["traceparent"] != want || call.Meta["kept"] != true {
		t.Errorf("the server is told %v, want %s", call.Meta, want)
	}
	if meta["traceparent"] != parent {
		t.Error("the caller's own _meta was changed")
	}
}

func TestSpansOfATraceHaveIDsOfTheirOwn(t *testing.T) {
	tr, to := kept(t)
	id := router.TraceID("t")
	ctx, root := tr.Start(traces.InTrace(t.Context(), id), "root")
	_, child := tr.Start(ctx, "child")
	child.End()
	root.End()
	all := to.GetSpans()
	if all[0].SpanContext.SpanID() == all[1].SpanContext.SpanID() || all[0].SpanContext.TraceID() != id || all[1].SpanContext.TraceID() != id {
		t.Errorf("%+v", all)
	}
}

func TestWhatIsNotRecordedIsNotSaidToBe(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tr, to := kept(t)
	call := router.ToolCall{Tool: "review", Meta: map[string]any{"traceparent": parent}}
	_, end := tr.Attempt(t.Context(), &router.Server{ID: "a"}, &call)
	end(nil, &router.CallError{Code: router.Timeout})
	if told, _ := call.Meta["traceparent"].(string); !strings.HasSuffix(told, "-00") {
		t.Errorf("the server is told %s", told)
	}
	if n := len(to.GetSpans()); n != 0 {
		t.Errorf("%d spans are kept", n)
	}
}

func TestTracesAreOffUntilTheEnvironmentNamesAnEndpoint(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"none":     {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			tr, err := traces.FromEnv(t.Context(), "s", "v", nil)
			if tr != nil || err != nil {
				t.Errorf("%v, %v", tr, err)
			}
			if err := tr.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// locked is a log.
type locked struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func TestACollectorThatIsAwayIsToldOfOnce(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer refuses.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", refuses.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=s3cret")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	log := &locked{}
	tr, err := traces.FromEnv(t.Context(), "s", "v", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		_, span := tr.Start(t.Context(), "x")
		span.End()
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
	text := log.text.String()
	if strings.Count(text, "traces cannot be sent") != 1 || strings.Contains(text, "s3cret") {
		t.Errorf("the log says %q", text)
	}
}

func TestTheLastFlushIsBounded(t *testing.T) {
	let := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}))
	defer hangs.Close()
	defer close(let)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", hangs.URL)
	tr, err := traces.FromEnv(t.Context(), "s", "v", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, span := tr.Start(t.Context(), "x")
	span.End()
	begun := time.Now()
	if err := tr.Close(t.Context()); !errors.Is(err, context.DeadlineExceeded) && err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
