package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestTheDashboardHasWhatAnOperatorAsksFirst(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	by := queries(d)
	for title, series := range map[string]string{
		"Handshake success (5 min rate)": "status:mcp_handshake:rate5m",
		"Health score":                   "server_name:mcp_server_health_score:min",
		"Node P95":                       "node:langgraph_node_execution_duration_seconds:p95_5m",
		"Errors by code (1 h)":           "server_name_error_code:mcp_server_error:increase1h",
	} {
		if !strings.Contains(strings.Join(by[title], " "), series) {
			t.Errorf("panel %q asks %q, want %s", title, by[title], series)
		}
	}
	if d.Panels[0].Type != "row" || d.Panels[1].Title != "Alerts" {
		t.Errorf("the first thing to be seen is %q", d.Panels[1].Title)
	}
}

func TestPanelsHaveAPlaceASourceAndAMeaning(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	var datasources struct {
		Datasources []struct{ UID, Type string }
	}
	text, err := os.ReadFile("grafana/provisioning/datasources/prometheus.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &datasources)
	}
	if err != nil {
		t.Fatal(err)
	}
	provisioned := source{Type: datasources.Datasources[0].Type, UID: datasources.Datasources[0].UID}
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if other, twice := ids[p.ID]; twice {
			t.Errorf("%q has the id of %q", p.Title, other)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%q lies over %q or the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource != provisioned {
			t.Errorf("%q: description %q, %d queries, source %v", p.Title, p.Description, len(p.Targets), p.Datasource)
		}
		for _, target := range p.Targets {
			if target.Datasource != provisioned {
				t.Errorf("%q asks %v, want %v", p.Title, target.Datasource, provisioned)
			}
		}
	}
}

// promtool reads rules only, so each query becomes one.
func TestPanelsQueriesAreWellFormed(t *testing.T) {
	t.Parallel()
	type record struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var records []record
	for _, p := range readDashboard(t).Panels {
		for i, target := range p.Targets {
			records = append(records, record{Record: "panel" + strings.Repeat("x", p.ID) + strings.Repeat("y", i), Expr: target.Expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": records}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := promtool(t, "check", "rules", file); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
