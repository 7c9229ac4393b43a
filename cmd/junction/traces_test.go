package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"junction/examples/codereview/repo/repotest"
	"junction/router"
)

// otlp is a collector that keeps the spans it is sent, by the service they are of.
type otlp struct {
	url string

	mu      sync.Mutex
	spans   map[string][]*spans.Span
	headers []string // Authorization, of each request
	faults  []error
}

func newOTLP(t *testing.T) *otlp {
	t.Helper()
	o := &otlp{spans: map[string][]*spans.Span{}}
	web := httptest.NewServer(o)
	t.Cleanup(web.Close)
	o.url = web.URL
	return o
}

func (o *otlp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil || r.URL.Path != "/v1/traces" {
		o.faults = append(o.faults, fmt.Errorf("%s: %w", r.URL.Path, err))
	}
	o.headers = append(o.headers, r.Header.Get("Authorization"))
	for _, rs := range sent.GetResourceSpans() {
		service := ""
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			o.spans[service] = append(o.spans[service], ss.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

const traced = `
mcpServers:
  git:
    command: junction
    args: [example-server, --reviewer, diff]
    env: {OTEL_EXPORTER_OTLP_ENDPOINT: %q}
    offers: [{capability: diff, tool: diff, effect: safe}]
`

const tracedFlow = `
workflow: traced
state:
  repo:  {type: string}
  files: {type: array}
nodes:
  diff: {call: {capability: diff, with: {repo: "${repo}"}}, write: {files: "${result.files}"}}
edges:
  - start -> diff -> end
`

func TestATraceGoesFromTheRunThroughTheHopIntoTheServer(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	repo.Write("s3cret.go", "package m\n")
	repo.Commit()
	repo.Write("s3cret.go", "package m\n\nvar a = 1\n")
	repo.Commit()
	o := newOTLP(t)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"junction.yaml": fmt.Sprintf(traced, o.url), "flow.yaml": tracedFlow})
	cmd := commandIn(t.Context(), t, dir, "run", "flow.yaml", "--thread", "traced-thread", "--set", "repo="+repo.Dir)
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+o.url, "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20t0ken", "OTEL_SERVICE_NAME=flows")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.faults) > 0 {
		t.Fatal(o.faults)
	}
	by := map[string]*spans.Span{}
	for service, all := range o.spans {
		for _, s := range all {
			by[service+": "+s.GetName()] = s
			if id := router.TraceID("traced-thread"); hex.EncodeToString(s.GetTraceId()) != hex.EncodeToString(id[:]) {
				t.Errorf("%s of %s is in another trace", s.GetName(), service)
			}
			if strings.Contains(s.String(), "s3cret") || strings.Contains(s.String(), repo.Dir) {
				t.Errorf("%s holds an argument or a result: %s", s.GetName(), s)
			}
		}
	}
	chain := []string{
		"flows: run traced", "flows: superstep", "flows: node diff", "flows: hop diff", "flows: tools/call diff", "review-diff: tools/call diff",
	}
	for i, name := range chain {
		s := by[name]
		if s == nil {
			t.Fatalf("there is no %q; %s", name, out)
		}
		parent := []byte(nil)
		if i > 0 {
			parent = by[chain[i-1]].GetSpanId()
		}
		if hex.EncodeToString(s.GetParentSpanId()) != hex.EncodeToString(parent) {
			t.Errorf("%q is not below what made it", name)
		}
	}
	sent := 0
	for _, h := range o.headers {
		if h == "Bearer t0ken" {
			sent++
		}
	}
	if sent == 0 {
		t.Errorf("the collector was sent %q", o.headers)
	}
	if strings.Contains(string(out), "t0ken") {
		t.Errorf("the collector's credential is shown:\n%s", out)
	}
}

// A collector that is away, or hangs, costs a run no more than the bound of the last
// flush, and does not fail it.
func TestACollectorThatHangsHoldsNoRunUp(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	repo.Write("a.go", "package m\n")
	repo.Commit()
	repo.Write("a.go", "package m\n\nvar a = 1\n")
	repo.Commit()
	let := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-let:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(let); hung.Close() })
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"junction.yaml": fmt.Sprintf(traced, ""), "flow.yaml": tracedFlow})
	cmd := commandIn(t.Context(), t, dir, "run", "flow.yaml", "--set", "repo="+repo.Dir)
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+hung.URL)
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the run took %s", took)
	}
}

func TestAProtocolThatTracesCannotLeaveByIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"flow.yaml": tracedFlow, "junction.yaml": fmt.Sprintf(traced, "")})
	cmd := commandIn(t.Context(), t, dir, "run", "flow.yaml")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "OTEL_EXPORTER_OTLP_PROTOCOL") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, ".junction")); err == nil {
		t.Log("the store was made all the same")
	}
}
