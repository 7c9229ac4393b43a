package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads what a server counts of itself.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s, %s", url, resp.Status, text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestAServerCountsItsHandshakesAndCalls(t *testing.T) {
	url := startHTTP(t, "--reviewer", "secrets", "--fail", "1")
	c := connectTo(t, url)
	var ask mcp.CallToolRequest
	ask.Params.Name, ask.Params.Arguments = "review", map[string]any{"code": "password = 'hunter2hunter2'", "language": "go"}
	if _, err := c.CallTool(t.Context(), ask); err == nil {
		t.Fatal("the first call was to fail")
	}
	if _, err := c.CallTool(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(url, "/mcp")
	for _, path := range []string{"/metrics", "/mcp/metrics"} {
		families := scrape(t, base+path)
		for _, want := range []struct {
			name, labels string
			value        float64
		}{
			{"mcp_handshake_total", "success", 1}, {"mcp_handshake_total", "failure", 0}, {"mcp_handshake_duration_seconds", "", 1},
			{"mcp_server_calls_total", "review-secrets error", 1}, {"mcp_server_calls_total", "review-secrets success", 1},
			{"mcp_server_call_duration_seconds", "review-secrets", 2}, {"mcp_server_calls_in_flight", "review-secrets", 0},
			{"mcp_server_tool_errors_total", "review-secrets", 0},
		} {
			found := false
			for _, m := range families[want.name].GetMetric() {
				var labels []string
				for _, l := range m.GetLabel() {
					labels = append(labels, l.GetValue())
				}
				if strings.Join(labels, " ") != want.labels {
					continue
				}
				found = true
				if is := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()); is != want.value {
					t.Errorf("%s{%s} is %v, want %v", want.name, want.labels, is, want.value)
				}
			}
			if !found {
				t.Errorf("%s{%s} is not there", want.name, want.labels)
			}
		}
		for _, f := range families {
			if strings.Contains(f.String(), "hunter2") {
				t.Errorf("%s holds what was to be reviewed", f.GetName())
			}
		}
	}
}
