package view

import (
	"strings"
	"testing"

	"junction/router/diagnose"
)

// layers are those of a report, by letters: p(assed), f(ailed), r(not reached).
func layers(letters string) []*diagnose.Layer {
	status := map[rune]diagnose.Status{'p': diagnose.Passed, 'f': diagnose.Failed, 'r': diagnose.NotReached}
	var all []*diagnose.Layer
	for i, c := range letters {
		l := &diagnose.Layer{Number: i + 1, Name: "network", Status: status[c], TookMS: 1.5, Saw: "seen"}
		if c == 'f' {
			l.Troubles = []diagnose.Trouble{{Level: diagnose.Failed, Cause: "it \x1b[2Jbroke", Fix: "mend it", Paste: "a:\n  b: c"}}
		}
		all = append(all, l)
	}
	return all
}

func diagnosis(t *testing.T, color bool, reports ...*diagnose.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Diagnose(&b, NewDiagnosis("service", reports), Style{Color: color}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDiagnoseOneServer(t *testing.T) {
	r := &diagnose.Report{Server: "billing", Endpoint: "http://b/mcp", Status: diagnose.Failed, Failed: 2, TookMS: 12, Layers: layers("pfrrrrr")}
	const want = `✗ billing  http://b/mcp
  ✓ 1 network                  2ms  seen
  ✗ 2 network                  2ms  seen
      it [2Jbroke
      fix: mend it
        a:
          b: c
  · 3–7  not reached: seen

layer 2, network, failed (12ms)
`
	if got := diagnosis(t, false, r); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := diagnosis(t, true, r); !strings.Contains(got, "\x1b[31m✗\x1b[0m") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("%q", got)
	}
}

func TestDiagnoseSeveralServersInATable(t *testing.T) {
	a := &diagnose.Report{Server: "a-1", Endpoint: "http://a/mcp", Version: "1.0", Status: diagnose.Passed, TookMS: 300, Layers: layers("ppppppp")}
	b := &diagnose.Report{Server: "a-longer", Endpoint: "http://b/mcp", Status: diagnose.Failed, Failed: 1, TookMS: 1, Layers: layers("frrrrrr")}
	got := diagnosis(t, false, a, b)
	for _, want := range []string{
		"✗ service  2 instances\n",
		"  a-1       ✓ ✓ ✓ ✓ ✓ ✓ ✓    300ms  1.0 http://a/mcp\n",
		"  a-longer  ✗ · · · · · ·      1ms  http://b/mcp\n",
		"\na-longer  http://b/mcp\n  ✗ 1 network",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\na-1  http://a/mcp\n") {
		t.Error("what is healthy is told at length")
	}
}
