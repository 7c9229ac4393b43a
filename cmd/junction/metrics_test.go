package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"junction/state/redis/redistest"
)

// servesAt waits for the worker to say where it serves metrics.
func (w *fleetWorker) servesAt(t testing.TB) string {
	t.Helper()
	var at string
	eventually(t, 30*time.Second, func() error {
		for text := range strings.Lines(w.log.String()) {
			var line struct{ Msg, At string }
			if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "metrics are served" {
				at = strings.TrimSuffix(line.At, "/metrics")
				return nil
			}
		}
		return fmt.Errorf("nothing is said of metrics in %s", w.log.String())
	})
	return at
}

// eventually asks until nothing is wrong.
func eventually(t testing.TB, most time.Duration, wrong func() error) {
	t.Helper()
	limit := time.After(most)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := wrong()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal(err)
		}
	}
}

// fetch is the status and the body of a page.
func fetch(t testing.TB, url string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// parseMetrics reads the text format.
func parseMetrics(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// reading is the value of the first series whose labels include these (name,
// value, …); of a histogram, how much was observed.
func reading(families map[string]*dto.MetricFamily, name string, labels ...string) (float64, bool) {
	for _, m := range families[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i < len(labels); i += 2 {
			fits = fits && has[labels[i]] == labels[i+1]
		}
		if fits {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
		}
	}
	return 0, false
}

// documented are the names that the package's documentation promises.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal", "metrics", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^//\t((?:mcp|langgraph|junction)_[a-z_]+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) < 30 {
		t.Fatalf("only %d names are documented: %q", len(names), names)
	}
	return names
}

func TestAWorkerServesWhatItCounts(t *testing.T) {
	t.Parallel()
	const threads, hops = 20, 5
	f := newFleet(t, redistest.Shared(t).Address(), time.Millisecond, 10*time.Second, 8)
	w := f.start(t)
	at := w.servesAt(t)
	ids := f.queue(t, fiveHops, threads)
	f.wait(t, ids, time.Minute, func() []*fleetWorker { return []*fleetWorker{w} })

	var families map[string]*dto.MetricFamily
	var text string
	eventually(t, 15*time.Second, func() error { // a thread is counted as ended a moment after it is
		var status int
		if status, text = fetch(t, at+"/metrics"); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		families = parseMetrics(t, text)
		if n, _ := reading(families, "junction_threads_total", "status", "completed"); n != threads {
			return fmt.Errorf("%v threads ended", n)
		}
		return nil
	})
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "mcp_handshake_total", []string{"status", "success"}},
		{0, "mcp_handshake_total", []string{"status", "failure"}},
		{1, "mcp_handshake_duration_seconds", nil},
		{0, "mcp_server_calls_in_flight", []string{"server_name", "shop"}},
		{0, "mcp_server_ejected", []string{"server_name", "shop"}},
		{1, "mcp_server_connections", []string{"state", "ready"}},
		{threads * hops, "langgraph_node_execution_duration_seconds", []string{"node", "server_router"}},
		{threads, "langgraph_node_execution_duration_seconds", []string{"node", "publish"}},
		{threads * hops, "mcp_server_calls_total", []string{"server_name", "shop", "status", "success"}},
		{threads * hops, "mcp_server_call_duration_seconds", []string{"server_name", "shop"}},
		{threads * hops, "mcp_server_picks_total", []string{"server_name", "shop"}},
		{threads * hops, "junction_hops_total", []string{"outcome", "result"}},
		{threads * hops, "junction_hop_duration_seconds", nil},
		{threads * hops, "junction_hop_attempts_total", nil},
		{0, "junction_hop_retries_total", nil},
		{threads * hops, "langgraph_checkpoint_duration_seconds", nil},
		{threads * hops, "junction_store_operation_duration_seconds", []string{"operation", "commit"}},
		{threads * hops, "junction_supersteps_total", nil},
		{0, "junction_duplicates_suppressed_total", []string{"kind", "late_answer"}},
		{0, "junction_fenced_writes_total", nil},
		{0, "junction_queue_depth", []string{"state", "due"}},
		{threads, "junction_worker_events_total", []string{"kind", "taken"}},
	} {
		if is, there := reading(families, c.name, c.labels...); !there || is != c.want {
			t.Errorf("%s%q is %v (there: %t), want %v", c.name, c.labels, is, there, c.want)
		}
	}
	if score, there := reading(families, "mcp_server_health_score", "server_name", "shop"); !there || score <= 0 || score > 1 {
		t.Errorf("the shop's score is %v (there: %t)", score, there)
	}
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total", "junction_build_info"} {
		if families[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	names := map[string]bool{}
	for _, n := range documented(t) {
		names[n] = true
	}
	for name := range families {
		if ours := strings.HasPrefix(name, "mcp_") || strings.HasPrefix(name, "langgraph_") || strings.HasPrefix(name, "junction_"); ours && !names[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, secret := range append([]string{f.address, f.shop.url, strings.TrimPrefix(f.shop.url, "http://")}, ids...) {
		if strings.Contains(text, secret) {
			t.Errorf("the metrics hold %s", secret)
		}
	}
	if status, again := fetch(t, at+"/mcp/metrics"); status != http.StatusOK || !strings.Contains(again, "mcp_handshake_total") {
		t.Errorf("/mcp/metrics: status %d", status)
	}
	if status, body := fetch(t, at+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: status %d, %s", status, body)
	}
	if status, body := fetch(t, at+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: status %d, %s", status, body)
	}
	lint(t, text)
}

// lint has Prometheus' own tool look at what is served, where this machine has it.
func lint(t *testing.T, text string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not here")
		return
	}
	check := exec.CommandContext(t.Context(), tool, "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

const fragileFlow = `
workflow: fragile
state:
  said: {type: string}
nodes:
  lean: {call: {capability: fragile, with: {}}, write: {said: "${result.said}"}}
edges:
  - start -> lean -> end
`

// fragile serves a tool whose first call fails, and says s3cret things.
func fragile(t *testing.T) (url string) {
	t.Helper()
	m := server.NewMCPServer("fragile", "1.0.0")
	var calls atomic.Int32
	m.AddTool(mcp.NewTool("lean"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if calls.Add(1) == 1 {
			return nil, errors.New("s3cret trouble")
		}
		return mcp.NewToolResultStructured(map[string]any{"said": "s3cret"}, "done"), nil
	})
	web := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true)))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL + "/mcp"
}

func TestWhatGoesWrongIsCountedByItsCodeAndNotByItsWords(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Shared(t).Address(), time.Millisecond, 10*time.Second, 8)
	servers := fmt.Sprintf(`
mcpServers:
  fragile:
    url: %s
    headers: {Authorization: Bearer s3cret}
    offers: [{capability: fragile, tool: lean, effect: safe}]
  nobody:
    url: http://127.0.0.1:1/mcp
    offers: [{capability: fragile, tool: lean, effect: safe}]
`, fragile(t))
	writeFiles(t, f.dir, map[string]string{"junction.yaml": servers})
	w := f.start(t)
	at := w.servesAt(t)
	f.wait(t, f.queue(t, fragileFlow, 1), time.Minute, func() []*fleetWorker { return []*fleetWorker{w} })
	status, text := fetch(t, at+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	families := parseMetrics(t, text)
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{1, "mcp_server_error_total", []string{"server_name", "fragile", "error_code", "MCP_SERVER_ERROR"}},
		{1, "mcp_server_calls_total", []string{"server_name", "fragile", "status", "error"}},
		{1, "mcp_server_calls_total", []string{"server_name", "fragile", "status", "success"}},
		{2, "junction_hop_attempts_total", nil},
		{1, "junction_hop_retries_total", nil},
		{1, "junction_hops_total", []string{"outcome", "result"}},
	} {
		if is, there := reading(families, c.name, c.labels...); !there || is != c.want {
			t.Errorf("%s%q is %v (there: %t), want %v", c.name, c.labels, is, there, c.want)
		}
	}
	if failed, _ := reading(families, "mcp_handshake_total", "status", "failure"); failed < 1 {
		t.Errorf("%v handshakes failed with nobody", failed)
	}
	if strings.Contains(text, "s3cret") {
		t.Error("the metrics hold what was said")
	}
	for _, name := range []string{ // R41
		"mcp_handshake_duration_seconds", "mcp_handshake_total", "mcp_server_health_score", "mcp_server_error_total",
		"langgraph_node_execution_duration_seconds", "langgraph_checkpoint_duration_seconds", "mcp_server_calls_total",
		"junction_queue_depth", "junction_fenced_writes_total", "junction_duplicates_suppressed_total",
	} {
		if families[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	lint(t, text)
}

func TestWhereMetricsAreServedIsTheOperatorsToSay(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is there at once
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() }) //nolint:errcheck // nothing is said on it
	f := newFleet(t, redistest.Shared(t).Address(), time.Millisecond, 10*time.Second, 8)
	serve := func(at string) *exec.Cmd {
		return commandIn(t.Context(), t, f.dir, "serve", "--store", f.address, "--config", filepath.Join(f.dir, "junction.yaml"), "--json", "--metrics", at)
	}
	cmd := serve(taken.Addr().String())
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "--metrics "+taken.Addr().String()) {
		t.Errorf("where it is taken: %s\n%s", cmd.ProcessState, out)
	}
	w := &fleetWorker{cmd: serve("")}
	w.cmd.Stderr = &w.log
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.kill(t) })
	f.wait(t, f.queue(t, fiveHops, 1), time.Minute, func() []*fleetWorker { return []*fleetWorker{w} })
	if strings.Contains(w.log.String(), "metrics") {
		t.Errorf("without an address metrics are served:\n%s", w.log.String())
	}
}
