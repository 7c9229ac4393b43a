package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"junction/cmd/junction/internal/metrics"
	"junction/graph"
	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scraped is what a scrape of m brings.
func scraped(t testing.TB, m *metrics.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// read is a value by "name{value,value}", the labels' values in the order of their
// names; −1 where there is none.
func read(families map[string]*dto.MetricFamily, name string, values ...string) float64 {
	for _, m := range families[name].GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, l.GetValue())
		}
		if strings.Join(has, ",") == strings.Join(values, ",") {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

// expect reads many: each want is name, values …, then what it must be.
func expect(t *testing.T, m *metrics.Metrics, want map[string]float64) {
	t.Helper()
	families := scraped(t, m)
	for what, value := range want {
		parts := strings.Fields(what)
		if is := read(families, parts[0], parts[1:]...); is != value {
			t.Errorf("%s is %v, want %v", what, is, value)
		}
	}
}

func TestServersAndNodesBeyondTheBoundAreCountedTogether(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	on, ended := m.Run()
	defer ended()
	for i := range 700 {
		server := fmt.Sprintf("server-%03d", i)
		m.OnDecision(router.HopInfo{}, router.Decision{Picked: server})
		m.OnOutcome(router.HopInfo{}, router.AttemptInfo{Server: server}, router.OutcomeInfo{Status: state.CallError, Code: router.Timeout})
		m.OnStray(server, mcp.LateAnswer)
		m.OnDrift(server, true)
		node := fmt.Sprintf("node-%03d", i)
		on(graph.Event{Kind: graph.EventTask, Task: node, Node: node, Time: time.Unix(0, 0)})
		on(graph.Event{Kind: graph.EventTaskDone, Task: node, Node: node, Time: time.Unix(1, 0)})
	}
	m.Ask(metrics.Sources{Health: func() (all []metrics.Health) {
		for i := range 700 {
			all = append(all, metrics.Health{Server: fmt.Sprintf("server-%03d", i), Score: 1 - float64(i)/1000})
		}
		return all
	}})
	families := scraped(t, m)
	for name, most := range map[string]int{
		"mcp_server_picks_total": 501, "mcp_server_error_total": 501, "mcp_server_strays_total": 501, "mcp_server_drift_total": 501,
		"mcp_server_health_score": 501, "langgraph_node_execution_duration_seconds": 202,
	} {
		if n := len(families[name].GetMetric()); n != most {
			t.Errorf("%s has %d series, want %d", name, n, most)
		}
	}
	if n := read(families, "mcp_server_picks_total", "other"); n != 200 {
		t.Errorf("the other servers have %v picks", n)
	}
	if score := read(families, "mcp_server_health_score", "other"); score < 0.3 || score > 0.302 {
		t.Errorf("of the other servers the lowest score is %v", score)
	}
}

func TestWhatComesFromOutsideIsALabelOnlyWhenItIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	for _, server := range []string{"", "\x1b[31mred\x1b[0m\n", "bad\xffutf8\u2028", strings.Repeat("ü", 200)} {
		m.OnDecision(router.HopInfo{}, router.Decision{Picked: server})
	}
	m.OnOutcome(router.HopInfo{}, router.AttemptInfo{Server: "a"}, router.OutcomeInfo{Status: "made up", Code: "s3cret", Message: "s3cret"})
	families := scraped(t, m)
	for _, f := range families {
		for _, series := range f.GetMetric() {
			for _, l := range series.GetLabel() {
				if v := l.GetValue(); len(v) > 100 || v == "" || !utf8.ValidString(v) || strings.ContainsAny(v, "\x1b\n\u2028") || strings.Contains(v, "s3cret") {
					t.Errorf("%s has the label %q", f.GetName(), v)
				}
			}
		}
	}
	expect(t, m, map[string]float64{
		"mcp_server_picks_total other": 1, "mcp_server_picks_total badutf8": 1, "mcp_server_picks_total " + strings.Repeat("ü", 50): 1,
		"mcp_server_error_total other a": 1, "mcp_server_calls_total a other": 1,
	})
}

func TestWhatServersDoIsCounted(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	m.OnHandshake("a", time.Millisecond, "")
	m.OnHandshake("a", time.Millisecond, router.AuthRequired)
	for _, s := range []mcp.State{mcp.Connecting, mcp.Ready, mcp.Lost, mcp.Connecting, mcp.Waiting} {
		m.OnStateChange("a", s)
	}
	m.OnStateChange("b", mcp.Connecting)
	m.OnStateChange("b", mcp.Closed)
	m.OnStray("a", mcp.LateAnswer)
	m.OnStray("a", mcp.LateProgress)
	m.OnReconnect(mcp.ReconnectPlan{Server: "a"})
	m.OnDrift("a", false)
	m.OnHeldBack("a", "tool")
	m.OnProbe("a", false)
	m.Ask(metrics.Sources{Health: func() []metrics.Health {
		return []metrics.Health{{Server: "a", Score: 0.9, InFlight: 2}, {Server: "a", Score: 0.4, InFlight: 3}, {Server: "b", Score: 0.9, Ejected: true}}
	}})
	expect(t, m, map[string]float64{
		"mcp_handshake_total success": 1, "mcp_handshake_total failure": 1, "mcp_handshake_duration_seconds": 2,
		"mcp_server_connections waiting": 1, "mcp_server_connections ready": 0, "mcp_server_connections connecting": 0,
		"mcp_server_strays_total late_answer a": 1, "mcp_server_strays_total late_progress a": 1,
		"junction_duplicates_suppressed_total late_answer": 1, "mcp_server_resubscriptions_total a": 1,
		"mcp_server_drift_total false a": 1, "mcp_server_held_back_total a": 1, "mcp_server_probes_total failure a": 1,
		"mcp_server_health_score a": 0.4, "mcp_server_calls_in_flight a": 3, "mcp_server_ejected a": 0,
		"mcp_server_health_score b": 0, "mcp_server_ejected b": 1,
	})
}

// answering is tools whose hops all end so.
type answering struct {
	a   state.Answer
	err error
}

func (t answering) Do(context.Context, state.Call) (state.Answer, error) { return t.a, t.err }

func TestEveryHopEndsInOneWord(t *testing.T) {
	t.Parallel()
	call := &router.AttemptsError{Attempts: []*router.AttemptError{{Err: &router.CallError{Code: router.ServerError}}}}
	for word, hop := range map[string]answering{
		"result":       {},
		"tool_error":   {a: state.Answer{IsError: true}},
		"replayed":     {a: state.Answer{Replayed: true, IsError: true}},
		"no_candidate": {err: &router.NoCandidateError{}},
		"attempts":     {err: call},
		"budget":       {err: &router.BudgetError{Attempts: call}},
		"rejected":     {err: &router.RejectedError{}},
		"deadline":     {err: &router.DeadlineError{Err: context.DeadlineExceeded}},
		"unknown":      {err: &router.UnknownOutcomeError{Err: call}},
		"contract":     {err: &router.ContractError{}},
		"question":     {err: fmt.Errorf("paused: %w", graph.ErrInterrupt)},
		"draining":     {err: fmt.Errorf("stopped: %w", state.ErrDraining)},
		"cancelled":    {err: fmt.Errorf("cut: %w", context.Canceled)},
		"store":        {err: &state.JournalError{Err: state.ErrUnavailable}},
		"other":        {err: fmt.Errorf("whatever")},
	} {
		m := metrics.New("test")
		_, err := m.Tools(hop).Do(t.Context(), state.Call{})
		if err != hop.err { //nolint:errorlint // it must be the very error
			t.Errorf("%s: the error became %v", word, err)
		}
		timed, spared, budget := 1.0, 0.0, 0.0
		switch word {
		case "replayed":
			timed, spared = 0, 1
		case "budget":
			budget = 1
		}
		expect(t, m, map[string]float64{
			"junction_hops_total " + word: 1, "junction_hop_duration_seconds": timed,
			"junction_duplicates_suppressed_total replayed": spared, "junction_retry_budget_exhausted_total": budget,
		})
	}
	m := metrics.New("test")
	if _, err := m.Tools(answering{}).Do(t.Context(), state.Call{RouteOnly: true}); err != nil {
		t.Fatal(err)
	}
	expect(t, m, map[string]float64{"junction_hops_total result": 0, "junction_hop_duration_seconds": 0})
}

// The router is timed under a name that a workflow may have chosen for a node.
func TestAWorkflowsNodeIsNotTakenForTheRouter(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	on, ended := m.Run()
	on(graph.Event{Kind: graph.EventTask, Task: "1", Node: "server_router"})
	on(graph.Event{Kind: graph.EventRetry, Task: "1", Node: "server_router"})
	on(graph.Event{Kind: graph.EventTaskDone, Task: "1", Node: "server_router"})
	on(graph.Event{Kind: graph.EventCheckpoint})
	m.OnDecision(router.HopInfo{}, router.Decision{Picked: "a", Took: time.Second})
	m.OnAttempt(router.HopInfo{}, router.AttemptInfo{Server: "a", Attempt: 2})
	expect(t, m, map[string]float64{
		"langgraph_node_execution_duration_seconds server_router": 1, "langgraph_node_execution_duration_seconds other": 1,
		"junction_node_retries_total other": 1, "junction_supersteps_total": 1, "junction_threads_running": 1,
		"junction_hop_retries_total": 1, "junction_hop_attempts_total": 1,
	})
	ended()
	expect(t, m, map[string]float64{"junction_threads_running": 0})
}

func TestReadinessIsAskedAndLifeIsNot(t *testing.T) {
	t.Parallel()
	var why error
	h := metrics.New("test").Handler(func(context.Context) error { return why })
	status := func(path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	if ready, live := status("/readyz"), status("/healthz"); ready != 200 || live != 200 {
		t.Errorf("ready %d, alive %d", ready, live)
	}
	why = fmt.Errorf("draining")
	if ready, live := status("/readyz"), status("/healthz"); ready != 503 || live != 200 {
		t.Errorf("not ready %d, alive %d", ready, live)
	}
	if post := httptest.NewRecorder(); true {
		h.ServeHTTP(post, httptest.NewRequest(http.MethodPost, "/metrics", nil))
		if post.Code != http.StatusMethodNotAllowed {
			t.Errorf("a POST is answered with %d", post.Code)
		}
	}
}
