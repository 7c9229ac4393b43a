package deploy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"
)

// read decodes a YAML file's documents; fields that T does not have are faults.
func read[T any](t *testing.T, path string) []T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var all []T
	for {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, v)
	}
}

// ruleFile is a file of Prometheus' rules.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Record, Alert, Expr string
	For                 string
	Labels, Annotations map[string]string
}

// rules are those of both files.
func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, path := range []string{"prometheus/recording.yml", "prometheus/alerts.yml"} {
		for _, f := range read[ruleFile](t, path) {
			for _, g := range f.Groups {
				all = append(all, g.Rules...)
			}
		}
	}
	return all
}

// dashboard is what is looked at of Grafana's.
type dashboard struct {
	UID    string
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		Expr       string
		Datasource source
	}
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("grafana/dashboards/junction.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// queries are every panel's, by the panel's title.
func queries(d dashboard) map[string][]string {
	by := map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			by[p.Title] = append(by[p.Title], target.Expr)
		}
	}
	return by
}

// promtool runs Prometheus' tool and returns what it says.
func promtool(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		if testing.Short() {
			t.Skip("promtool is not there, and left out of short runs")
		}
		t.Fatal("promtool is needed: make prometheus installs it")
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(out), err
}

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	matchers = regexp.MustCompile(`\{[^}]*\}`)
	names    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	words    = []string{
		"sum", "min", "max", "count", "rate", "increase", "histogram_quantile", "absent", "scalar", "vector", "or", "on", "unless", "and", "by",
		"m", "h",
	}
)

// series are the names of what an expression selects. It knows as much of the
// language as is used here.
func series(expr string) []string {
	bare := matchers.ReplaceAllString(quoted.ReplaceAllString(expr, ""), "")
	var all []string
	for _, name := range names.FindAllString(grouping.ReplaceAllString(bare, ""), -1) {
		if !slices.Contains(words, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
