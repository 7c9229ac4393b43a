package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ran is a run whose checks are "scenario/id STATUS" each.
func ran(way string, checks ...string) run {
	r := run{leg: leg{Suite: "modern", Version: "v"}, way: way, found: findings{}}
	for _, c := range checks {
		name, status, _ := strings.Cut(c, " ")
		scenario, id, _ := strings.Cut(name, "/")
		r.found.add(scenario, []check{{ID: id, Status: status, Message: "its message"}})
	}
	return r
}

func TestAWayMustComeOutAsTheServerAloneDoes(t *testing.T) {
	t.Parallel()
	alone := ran(wayAlone, "a/x SUCCESS", "a/x SUCCESS", "b/y SUCCESS")
	expects := func(way, status, check string) []allowed {
		return []allowed{{Ways: []string{way}, Suite: "modern", Version: "v", Status: status, Checks: []string{check}, Reason: "the reason"}}
	}
	for name, tc := range map[string]struct {
		alone, other run
		expected     []allowed
		wrong        string // "": nothing is
	}{
		"alike":                            {alone, ran(wayURL, "b/y SUCCESS", "a/x SUCCESS", "a/x SUCCESS"), nil, ""},
		"one fails":                        {alone, ran(wayURL, "a/x SUCCESS", "a/x FAILURE", "b/y SUCCESS"), nil, "a/x: FAILURE, should be SUCCESS: its message"},
		"one is missing":                   {alone, ran(wayURL, "a/x SUCCESS", "b/y SUCCESS"), nil, "a/x: -, should be SUCCESS"},
		"one is added":                     {alone, ran(wayURL, "a/x SUCCESS", "a/x SUCCESS", "b/y SUCCESS", "b/z SUCCESS"), nil, "b/z: SUCCESS, should be -"},
		"one differs as expected":          {alone, ran(wayURL, "a/x SUCCESS", "a/x WARNING", "b/y SUCCESS"), expects(wayURL, "WARNING", "a/x"), ""},
		"it differs otherwise":             {alone, ran(wayURL, "a/x SUCCESS", "a/x FAILURE", "b/y SUCCESS"), expects(wayURL, "WARNING", "a/x"), "a/x: FAILURE"},
		"it is expected of another way":    {alone, ran(wayURL, "a/x SUCCESS", "a/x WARNING", "b/y SUCCESS"), expects(wayCommand, "WARNING", "a/x"), "a/x: WARNING"},
		"what is expected does not come":   {alone, ran(wayURL, "a/x SUCCESS", "a/x SUCCESS", "b/y SUCCESS"), expects(wayURL, "WARNING", "a/x"), "a/x is as it should be in the way url"},
		"the server alone fails":           {ran(wayAlone, "a/x FAILURE"), ran(wayURL, "a/x FAILURE"), nil, "alone: a/x: FAILURE, should be SUCCESS"},
		"it fails as expected, both do":    {ran(wayAlone, "a/x FAILURE"), ran(wayURL, "a/x FAILURE"), expects(wayAlone, "FAILURE", "a/x"), ""},
		"it fails, and not by way of ours": {ran(wayAlone, "a/x FAILURE"), ran(wayURL, "a/x SUCCESS"), expects(wayAlone, "FAILURE", "a/x"), "url: a/x: SUCCESS, should be FAILURE"},
		"a scenario that checks nothing":   {ran(wayAlone, "a/x INFO"), ran(wayURL, "a/x INFO"), nil, "a/none: FAILURE, should be SUCCESS: no check was made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rep := hold([]run{tc.alone, tc.other}, tc.expected)
			err := rep.verdict()
			if tc.wrong == "" && err != nil || tc.wrong != "" && (err == nil || !strings.Contains(err.Error(), tc.wrong)) {
				t.Errorf("the verdict: %v", err)
			}
		})
	}
}

func TestTheTableCountsWhatDiffersAndSaysWhy(t *testing.T) {
	t.Parallel()
	rep := hold([]run{ran(wayAlone, "a/x SUCCESS", "b/y SUCCESS"), ran(wayURL, "a/x WARNING", "b/y SUCCESS")},
		[]allowed{{Ways: []string{wayURL}, Suite: "modern", Version: "v", Status: "WARNING", Checks: []string{"a/x"}, Reason: "it is\n another"}})
	var out strings.Builder
	if err := rep.table(&out); err != nil {
		t.Fatal(err)
	}
	const want = `suite   version  way    scenarios  checks  other than alone
modern  v        alone  2          2/2     -
modern  v        url    2          1/2     1
it is another
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatASuiteLeftIsFoundByScenario(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, checks := range map[string]string{
		"server-tools-list-2026-11-30T08-23-08-047Z":       `[{"id":"a","name":"A","status":"SUCCESS"},{"id":"i","name":"I","status":"INFO"}]`,
		"server-server-stateless-2026-11-30T08-23-08-047Z": `[{"id":"b","name":"B","status":"FAILURE"},{"id":"b","name":"B","status":"SUCCESS"}]`,
		"something-else": `[{"id":"c","status":"SUCCESS"}]`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "checks.json"), []byte(checks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := readFindings(dir)
	if err != nil {
		t.Fatal(err)
	}
	passed, scenarios := found.passed()
	if len(found) != 3 || passed != 2 || scenarios != 2 || found[finding{"server-stateless", "b", "B", 2}].Status != "SUCCESS" {
		t.Errorf("%v", found)
	}
}

func TestExpectedDifferencesHaveReasons(t *testing.T) {
	t.Parallel()
	if _, err := readDifferences("."); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"differs: [{ways: [url], suite: legacy, status: WARNING, checks: [a/b]}]": "lacks",
		"differs: [{way: url}]": "way",
	} {
		if err := os.WriteFile(filepath.Join(dir, "expected-proxy.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readDifferences(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
