package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// withoutDiscovery is a configuration with an address in the place of each
// discovery: Debian builds Prometheus without Consul's and Kubernetes'. found is
// what stood there, by job.
func withoutDiscovery(t *testing.T, path string) (config string, found map[string]any) {
	t.Helper()
	c := read[map[string]any](t, path)[0]
	found = map[string]any{}
	for _, j := range c["scrape_configs"].([]any) {
		job := j.(map[string]any)
		for _, key := range []string{"consul_sd_configs", "kubernetes_sd_configs"} {
			if sd, ok := job[key]; ok {
				found[job["job_name"].(string)+" "+key] = sd
				delete(job, key)
				job["static_configs"] = []any{map[string]any{"targets": []any{"127.0.0.1:1"}}}
			}
		}
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		rules, err := os.ReadFile(filepath.Join("prometheus", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), rules, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	config = filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return config, found
}

func TestPrometheusTakesItsConfiguration(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]map[string]any{
		"prometheus/prometheus.yml": {"mcp-server consul_sd_configs": []any{map[string]any{"server": "consul:8500", "tags": []any{"mcp"}}}},
		"prometheus/kubernetes.yml": {"junction kubernetes_sd_configs": []any{map[string]any{"role": "pod", "namespaces": map[string]any{"names": []any{"junction"}}}}},
	} {
		config, found := withoutDiscovery(t, path)
		if said, err := promtool(t, "check", "config", config); err != nil || !strings.Contains(said, "SUCCESS: 6 rules found") {
			t.Errorf("%s: %v\n%s", path, err, said)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s finds servers by (-want +got):\n%s", path, diff)
		}
	}
}

func TestEachAlertFiresWhenItShouldAndNotBefore(t *testing.T) {
	t.Parallel()
	if said, err := promtool(t, "test", "rules", "prometheus/alerts_test.yml"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	type alertTest struct {
		Alertname string
		EvalTime  string           `yaml:"eval_time"`
		Expected  []map[string]any `yaml:"exp_alerts"`
	}
	var tests struct {
		Tests []struct {
			Alerts []alertTest `yaml:"alert_rule_test"`
		}
	}
	text, err := os.ReadFile("prometheus/alerts_test.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &tests)
	}
	if err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, a := range test.Alerts {
			fires[a.Alertname] = fires[a.Alertname] || len(a.Expected) > 0
			silent[a.Alertname] = silent[a.Alertname] || len(a.Expected) == 0
		}
	}
	severities := map[string]string{}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		severities[r.Alert] = r.Labels["severity"]
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: a test where it fires: %v, one where it does not: %v", r.Alert, fires[r.Alert], silent[r.Alert])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s does not say what is the matter and what to do", r.Alert)
		}
	}
	for alert, severity := range map[string]string{"HandshakesFail": "P1", "ServerUnhealthy": "P2", "RouterSlow": "P3"} {
		if severities[alert] != severity {
			t.Errorf("%s is %q, want %s", alert, severities[alert], severity)
		}
	}
}

// counted are the metrics that Junction's own documentation lists, and by label.
func counted(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../cmd/junction/internal/metrics/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"up": true, "ALERTS": true, "go_goroutines": true, "process_resident_memory_bytes": true, "process_cpu_seconds_total": true}
	for _, line := range regexp.MustCompile(`(?m)^//\t([a-z_]+)(?:\{[a-z_,]+\})?( +h  )?`).FindAllStringSubmatch(string(text), -1) {
		if line[2] == "" {
			all[line[1]] = true
			continue
		}
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			all[line[1]+part] = true
		}
	}
	return all
}

func TestRulesAndPanelsAskForWhatIsCounted(t *testing.T) {
	t.Parallel()
	known, asked := counted(t), map[string]string{}
	for _, r := range rules(t) {
		if r.Record != "" {
			known[r.Record] = true
		}
		asked[r.Record+r.Alert] = r.Expr
	}
	for title, exprs := range queries(readDashboard(t)) {
		for i, expr := range exprs {
			asked[fmt.Sprintf("panel %q, query %d", title, i)] = expr
		}
	}
	used := map[string]bool{}
	for _, who := range slices.Sorted(maps.Keys(asked)) {
		for _, name := range series(asked[who]) {
			used[name] = true
			if !known[name] {
				t.Errorf("%s asks for %s, which nobody counts or records", who, name)
			}
			// A server counts its calls under the names that workers use.
			own := strings.Contains(name, ":") || name == "ALERTS"
			if selected := strings.Count(asked[who], name+`{job="`); !own && selected != strings.Count(asked[who], name) {
				t.Errorf("%s does not say whose %s it wants", who, name)
			}
		}
	}
	for _, r := range rules(t) {
		if r.Record != "" && !used[r.Record] {
			t.Errorf("nobody looks at %s", r.Record)
		}
	}
}
