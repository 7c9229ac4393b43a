package spans_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"junction/cmd/junction/internal/spans"
	"junction/graph"
	"junction/graph/workflow"
	"junction/router"
	"junction/router/mcp"
	"junction/router/static"
	"junction/router/traces"
	"junction/state"
	"junction/state/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server that notes which trace it was called in, and fails its first
// calls of a tool, and a Junction whose spans are kept.
type world struct {
	kept   *tracetest.InMemoryExporter
	spans  *spans.Spans
	router *router.Router

	mu      sync.Mutex
	parents []string // as the server was told
	failing int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{kept: tracetest.NewInMemoryExporter()}
	served := mcpserver.NewMCPServer("s", "1")
	served.AddTool(protocol.NewToolWithRawSchema("look", "", []byte(`{"type":"object"}`)), w.look)
	web := httptest.NewServer(mcpserver.NewStreamableHTTPServer(served, mcpserver.WithStateLess(true)))
	t.Cleanup(web.Close)
	path := filepath.Join(t.TempDir(), "junction.yaml")
	servers := "mcpServers:\n"
	for _, id := range []string{"a", "b"} {
		servers += "  " + id + ":\n    url: " + web.URL + "/mcp\n    headers: {Authorization: Bearer s3cret}\n    offers: [{capability: look, tool: look, effect: safe}]\n"
	}
	if err := os.WriteFile(path, []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := static.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	tracer := traces.New(sdktrace.NewSimpleSpanProcessor(w.kept), nil)
	w.spans = spans.New(tracer)
	client := mcp.New(nil)
	w.router = router.New(config.Discovery(), w.spans.Caller(client), nil)
	t.Cleanup(func() {
		w.router.Close()
		if err := errors.Join(client.Close(context.Background()), tracer.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) look(_ context.Context, r protocol.CallToolRequest) (*protocol.CallToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parent, _ := r.Params.Meta.AdditionalFields[router.TraceParent].(string)
	w.parents = append(w.parents, parent)
	if w.failing > 0 {
		w.failing--
		return nil, errors.New("s3cret trouble")
	}
	return protocol.NewToolResultStructured(map[string]any{"found": "s3cret answer"}, "done"), nil
}

const looking = `
workflow: looking
state:
  found:  {type: string}
  second: {type: string}
nodes:
  look: {call: {capability: look, with: {what: "s3cret argument"}}, write: {found: "${result.found}"}}
  wait: {ask: {question: "s3cret question", show: "${found}"}, write: {second: "${answer}"}}
  more: {call: {capability: look, with: {what: "s3cret argument"}}, write: {found: "${result.found}"}}
edges:
  - start -> look -> wait -> more -> end
`

// run runs or resumes thread t.
func (w *world) run(t *testing.T, store state.Store, again bool, answers string) graph.Result {
	t.Helper()
	wf, err := workflow.Parse("w.yaml", []byte(looking))
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(wf.Spec(w.spans.Tools(w.router)))
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	ctx, on, end := w.spans.Run(t.Context(), "looking", func(graph.Event) { told++ })
	o := graph.RunOptions{Thread: "t", Store: store, OnEvent: on}
	var res graph.Result
	if again {
		o.Answers = map[string]json.RawMessage{"": json.RawMessage(answers)}
		res, err = g.Resume(ctx, "t", o)
	} else {
		res, err = g.Run(ctx, o)
	}
	end(res, err)
	if err != nil {
		t.Fatal(err)
	}
	if told == 0 {
		t.Error("whoever else watches was told nothing")
	}
	return res
}

// tree is each span as the names from the outermost to it, sorted.
func (w *world) tree(t *testing.T) []string {
	t.Helper()
	all := w.kept.GetSpans()
	by := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range all {
		if _, twice := by[s.SpanContext.SpanID()]; twice {
			t.Errorf("two spans have the id of %s", s.Name)
		}
		by[s.SpanContext.SpanID()] = s
	}
	var paths []string
	for _, s := range all {
		path := s.Name
		for p, is := by[s.Parent.SpanID()]; is; p, is = by[p.Parent.SpanID()] {
			path = p.Name + " > " + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func TestARunAndItsResumeAreOneTraceDownToTheServer(t *testing.T) {
	w := newWorld(t)
	store := memory.New(nil)
	if res := w.run(t, store, false, ""); res.Status != state.StatusInterrupted {
		t.Fatalf("it is %s: %v", res.Status, res.Err)
	}
	if res := w.run(t, store, true, `"on"`); res.Status != state.StatusCompleted {
		t.Fatalf("it is %s: %v", res.Status, res.Err)
	}
	attempt := func(node string) string {
		return "run looking > superstep > node " + node + " > hop look > tools/call look"
	}
	want := []string{
		"run looking", "run looking", "run looking > superstep", "run looking > superstep", "run looking > superstep", "run looking > superstep",
		"run looking > superstep > node look", "run looking > superstep > node look > hop look", attempt("look"),
		"run looking > superstep > node more", "run looking > superstep > node more > hop look", attempt("more"),
		"run looking > superstep > node wait", "run looking > superstep > node wait",
	}
	if is := w.tree(t); !slices.Equal(is, want) {
		t.Errorf("spans\n%s\nwant\n%s", strings.Join(is, "\n"), strings.Join(want, "\n"))
	}
	var sent []string
	for _, s := range w.kept.GetSpans() {
		if s.SpanContext.TraceID() != router.TraceID("t") {
			t.Errorf("%s is in trace %s", s.Name, s.SpanContext.TraceID())
		}
		if s.SpanKind == trace.SpanKindClient {
			sent = append(sent, "00-"+s.SpanContext.TraceID().String()+"-"+s.SpanContext.SpanID().String()+"-01")
		}
	}
	if !slices.Equal(sent, w.parents) {
		t.Errorf("the server was told %q, the spans are %q", w.parents, sent)
	}
}

func TestAFailedAttemptIsASpanWithItsCodeAndNothingOfWhatWasSaid(t *testing.T) {
	w := newWorld(t)
	w.failing = 1
	w.run(t, memory.New(nil), false, "")
	var failed, well int
	for _, s := range w.kept.GetSpans() {
		for _, text := range append(texts(s.Attributes), s.Name, s.Status.Description) {
			if strings.Contains(text, "s3cret") {
				t.Errorf("%s holds %q", s.Name, text)
			}
		}
		if s.SpanKind != trace.SpanKindClient {
			continue
		}
		a := attribute.NewSet(s.Attributes...)
		code, _ := a.Value(traces.Code)
		at, _ := a.Value(traces.Attempt)
		effect, _ := a.Value(traces.Effect)
		capability, _ := a.Value(traces.Capability)
		if effect.AsString() != "safe" || capability.AsString() != "look" {
			t.Errorf("of the attempt is told %v", s.Attributes)
		}
		switch {
		case s.Status.Code == codes.Error && code.AsString() == string(router.ServerError) && at.AsInt64() == 1:
			failed++
		case s.Status.Code == codes.Unset && at.AsInt64() == 2:
			well++
		}
	}
	if failed != 1 || well != 1 {
		t.Errorf("%d attempts failed and %d went well", failed, well)
	}
}

func texts(all []attribute.KeyValue) (t []string) {
	for _, a := range all {
		t = append(t, a.Value.String())
	}
	return t
}

func TestWithoutTracesNothingIsInTheWay(t *testing.T) {
	t.Parallel()
	s := spans.New(nil)
	client := mcp.New(nil)
	defer func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if c := s.Caller(client); c != router.Caller(client) {
		t.Error("something stands before the client")
	}
	ctx, on, end := s.Run(t.Context(), "w", nil)
	if ctx != t.Context() || on != nil {
		t.Error("the run was given something")
	}
	end(graph.Result{}, nil)
}

// Every server is probed every few seconds: that would be most of the traces.
func TestAProbeIsNoTrace(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	tracer := traces.New(sdktrace.NewSimpleSpanProcessor(kept), nil)
	client := mcp.New(nil)
	defer func() {
		if err := errors.Join(client.Close(context.Background()), tracer.Close(context.Background())); err != nil {
			t.Error(err)
		}
	}()
	nobody := &router.Server{ID: "nobody", Dial: router.Dial{URL: "http://127.0.0.1:1/mcp"}}
	if _, err := spans.New(tracer).Caller(client).Call(t.Context(), nobody, router.ToolCall{Tool: "look", Max: time.Second, Idle: time.Second}); err == nil {
		t.Fatal("nobody answered")
	}
	if n := len(kept.GetSpans()); n != 0 {
		t.Errorf("%d spans", n)
	}
}
