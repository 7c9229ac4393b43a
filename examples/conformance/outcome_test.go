package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if log := os.Getenv(fakeVar); log != "" {
		os.Exit(playJunction(os.Args[1:], log))
	}
	goleak.VerifyTestMain(m)
}

func TestTheListOfASuiteIsRead(t *testing.T) {
	t.Parallel()
	const text = `Client scenarios (test against a client):
  - tools_call [2025-06-18,2025-11-25,2026-07-28]
  - sse-retry [2025-11-25]
  - auth/old [2025-03-26]
  - auth/dpop [extension]
`
	want := []scenario{
		{"modern", "tools_call", "2025-11-25"}, {"modern", "tools_call", "2026-07-28"},
		{"modern", "sse-retry", "2025-11-25"}, {"modern", "auth/old", ""}, {"modern", "auth/dpop", ""},
	}
	if diff := cmp.Diff(want, parseList("modern", text)); diff != "" {
		t.Errorf("modern (-want +got):\n%s", diff)
	}
	legacy := parseList("legacy", text)
	if len(legacy) != 4 || legacy[0] != (scenario{"legacy", "tools_call", ""}) {
		t.Errorf("legacy: %v", legacy)
	}
	if got := choose(want, regexp.MustCompile("^modern/auth/")); len(got) != 2 || len(want) != 5 {
		t.Errorf("chosen: %v of %v", got, want)
	}
}

func TestAScenarioPassesOnlyWithAtLeastOneCheckAndNoWarning(t *testing.T) {
	t.Parallel()
	s := scenario{"modern", "x", ""}
	for name, tc := range map[string]struct {
		checks        []check
		content       bool
		passed, total int
		pass          bool
		why           string
	}{
		"all succeed":              {[]check{{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "INFO"}, {ID: "c", Status: "SKIPPED"}}, true, 1, 1, true, ""},
		"nothing was checked":      {[]check{{ID: "b", Status: "INFO"}, {ID: "c", Status: "SKIPPED"}}, true, 0, 0, false, "no check was made"},
		"no checks at all":         {nil, true, 0, 0, false, "no check was made"},
		"one fails":                {[]check{{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "FAILURE", Message: "it broke"}}, false, 1, 2, false, "b: it broke"},
		"one warns":                {[]check{{ID: "a", Status: "SUCCESS"}, {ID: "b", Status: "WARNING"}}, false, 1, 2, false, "b: not met"},
		"the client did not end":   {[]check{{ID: "a", Status: "SUCCESS"}}, false, 1, 1, false, "the suite is not content: TIMED OUT"},
		"a failure and a good end": {[]check{{ID: "b", Status: "FAILURE", Message: "it broke"}}, true, 0, 1, false, "b: it broke"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judge(s, tc.checks, tc.content, "some words\nTIMED OUT\n")
			want := result{scenario: s, Passed: tc.passed, Total: tc.total, Pass: tc.pass, Why: tc.why}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestAnOutcomeThatIsNotExpectedFailsTheRunInEitherDirection(t *testing.T) {
	t.Parallel()
	good, bad, listed := scenario{"modern", "good", ""}, scenario{"modern", "bad", ""}, scenario{"legacy", "listed", ""}
	known := []scenario{good, bad, listed}
	expected := []expectation{{Scenarios: []string{"listed"}, Reason: "it is of another world"}}
	results := func(listedPasses, badPasses bool) []result {
		return []result{{good, 1, 1, true, ""}, {bad, 0, 1, badPasses, "it broke"}, {listed, 0, 1, listedPasses, "as ever"}}
	}
	for name, tc := range map[string]struct {
		expected     []expectation
		listed, bad  bool
		fails, table string
	}{
		"as expected":            {expected, false, true, "", "(1) it is of another world"},
		"one fails":              {expected, false, false, "modern/bad: it broke", "WRONG: it broke"},
		"one passes unexpected":  {expected, true, true, "legacy/listed: it passes", "WRONG: it passes"},
		"an entry is of nothing": {append(expected, expectation{Scenarios: []string{"gone"}, Reason: "r"}), false, true, "gone: expected.yaml names", "WRONG"},
		"an entry of the other suite does not count": {[]expectation{{Scenarios: []string{"listed"}, Suite: "modern", Reason: "r"}}, false, true, "as ever", "WRONG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := compare(tc.expected, known, results(tc.listed, tc.bad))
			err := verdict(rows)
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("the run's error: %v", err)
			}
			var out strings.Builder
			if err := table(&out, rows); err != nil || !strings.Contains(out.String(), tc.table) {
				t.Errorf("%v, table:\n%s", err, out.String())
			}
		})
	}
}

func TestExpectationsAreReadWithTheirReasons(t *testing.T) {
	t.Parallel()
	if all, err := readExpected("."); err != nil || len(all) == 0 {
		t.Errorf("%v, %v", all, err)
	}
	for name, text := range map[string]string{
		"no reason":      "fails: [{scenarios: [a]}]",
		"no scenario":    "fails: [{reason: a}]",
		"an unknown key": "fails: []\npasses: []",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "expected.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExpected(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
