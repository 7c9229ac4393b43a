package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v4"
)

// check is one of a suite's findings.
type check struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED, INFO
	Message string `json:"errorMessage"`
}

// result is what a scenario came to.
type result struct {
	scenario
	Passed, Total int    // checks; those that were skipped or only inform do not count
	Pass          bool   // the suite is content and has looked at something
	Why           string // the first thing that was wrong
}

// judge counts a scenario's checks. content says that the suite ended well.
func judge(s scenario, checks []check, content bool, output string) result {
	r := result{scenario: s, Pass: content}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			r.Passed++
			r.Total++
		case "FAILURE", "WARNING":
			r.Total++
			r.Pass = false
			r.Why = cmp.Or(r.Why, c.ID+": "+cmp.Or(c.Message, "not met"))
		}
	}
	switch {
	case r.Total == 0:
		r.Pass, r.Why = false, "no check was made"
	case !r.Pass && r.Why == "":
		r.Why = "the suite is not content: " + lastLine(output)
	}
	return r
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// expectation is an entry of expected.yaml: scenarios that do not pass, and why that
// is right. What has no entry must pass.
type expectation struct {
	Scenarios []string `yaml:"scenarios"`
	Suite     string   `yaml:"suite"` // "": of both
	Reason    string   `yaml:"reason"`
}

func (e expectation) covers(s scenario) bool {
	return slices.Contains(e.Scenarios, s.Name) && (e.Suite == "" || e.Suite == s.Suite)
}

// readList reads a file of ours, in which every key must be known; path names it.
func readList(dir, name string, into any) (path string, err error) {
	path = filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return path, err
	}
	if err := yaml.Load(data, into, yaml.WithKnownFields()); err != nil {
		return path, fmt.Errorf("%s: %w", path, err)
	}
	return path, nil
}

func readExpected(dir string) ([]expectation, error) {
	var file struct {
		Fails []expectation `yaml:"fails"`
	}
	path, err := readList(dir, "expected.yaml", &file)
	if err != nil {
		return nil, err
	}
	for _, e := range file.Fails {
		if len(e.Scenarios) == 0 || e.Reason == "" {
			return nil, fmt.Errorf("%s: an entry lacks its scenarios or its reason: %+v", path, e)
		}
	}
	return file.Fails, nil
}

// row is a line of the table.
type row struct {
	result
	Expected string // why it is right that it does not pass; "": it must pass
	Wrong    string // how it differs from what is expected; "": it does not
}

// compare holds results against expectations. known are all scenarios of the suites:
// an expectation that covers none of them is out of date.
func compare(expected []expectation, known []scenario, results []result) []row {
	var rows []row
	for _, r := range results {
		line := row{result: r}
		for _, e := range expected {
			if e.covers(r.scenario) {
				line.Expected = e.Reason
			}
		}
		switch {
		case r.Pass && line.Expected != "":
			line.Wrong = "it passes, and expected.yaml says that it does not"
		case !r.Pass && line.Expected == "":
			line.Wrong = r.Why
		}
		rows = append(rows, line)
	}
	for _, e := range expected {
		for _, name := range e.Scenarios {
			one := expectation{Scenarios: []string{name}, Suite: e.Suite}
			if !slices.ContainsFunc(known, one.covers) {
				rows = append(rows, row{result: result{scenario: scenario{Suite: e.Suite, Name: name}}, Expected: e.Reason, Wrong: "expected.yaml names a scenario that the suites do not have"})
			}
		}
	}
	return rows
}

// table prints a line for each scenario, and below it the reasons of those that do
// not pass.
func table(w io.Writer, rows []row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "suite\tscenario\tversion\tchecks\tverdict")
	var reasons []string
	for _, r := range rows {
		says := "pass"
		switch {
		case r.Wrong != "":
			says = "WRONG: " + oneLine(r.Wrong)
		case r.Expected != "":
			n := slices.Index(reasons, r.Expected)
			if n < 0 {
				n, reasons = len(reasons), append(reasons, r.Expected)
			}
			says = fmt.Sprintf("no (%d)", n+1)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d/%d\t%s\n", cmp.Or(r.Suite, "-"), r.Name, cmp.Or(r.Version, "-"), r.Passed, r.Total, says)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for n, reason := range reasons {
		if _, err := fmt.Fprintf(w, "(%d) %s\n", n+1, oneLine(reason)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, summary(rows))
	return err
}

// summary counts the rows by verdict.
func summary(rows []row) string {
	var pass, no, wrong, checks int
	for _, r := range rows {
		switch {
		case r.Wrong != "":
			wrong++
		case r.Expected != "":
			no++
		default:
			pass++
			checks += r.Passed
		}
	}
	return fmt.Sprintf("%d pass, with %d checks; %d do not and are expected not to; %d are not as expected", pass, checks, no, wrong)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// verdict is an error when a row is wrong.
func verdict(rows []row) error {
	var wrong []error
	for _, r := range rows {
		if r.Wrong != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", r.scenario, oneLine(r.Wrong)))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of %d outcomes are not the expected ones:\n%w", len(wrong), len(rows), errors.Join(wrong...))
	}
	return nil
}
