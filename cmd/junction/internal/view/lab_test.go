package view

import (
	"bytes"
	"strings"
	"testing"

	"junction/router/lab"
)

func labReports() []lab.Report {
	figures := func(over, p99 float64, never int) []lab.Figure {
		return []lab.Figure{
			{Metric: lab.P50, Unit: "ms", Mean: 71.23, Low: 71, High: 71.4},
			{Metric: lab.P99, Unit: "ms", Mean: p99, Low: p99 - 30, High: p99 + 30},
			{Metric: lab.Over, Mean: over, Low: over * 0.9, High: over * 1.1},
			{Metric: lab.Errors, Mean: 0},
			{Metric: lab.Attempts, Mean: 1.05, Low: 1.05, High: 1.05},
			{Metric: lab.Drain, Unit: "s", Mean: 80, Low: 80, High: 80, Never: never},
		}
	}
	verdict := func(policy string, over float64, holds bool) lab.Verdict {
		return lab.Verdict{Policy: policy, Check: "over ≤ 0.002", Figure: lab.Figure{Metric: lab.Over, Mean: over, Low: over * 0.9, High: over * 1.1}, Limit: 0.002, Holds: holds}
	}
	return []lab.Report{
		{
			Scenario: "G3", About: "one is slow", Seeds: lab.Seeds(1, 20), Watch: "odd", Trouble: []lab.Span{{From: 20, To: 80}},
			Policies: []lab.PolicyReport{{Policy: "default", Figures: figures(0.001, 540, 0), Series: []lab.Second{{At: 99}}}, {Policy: "linear", Figures: figures(0.087, 45387, 20), Series: []lab.Second{{At: 99}}}},
			Verdicts: []lab.Verdict{verdict("default", 0.001, true), verdict("linear", 0.087, false)},
		},
		{Scenario: "free", About: "no gate", Seeds: lab.Seeds(1, 1), Policies: []lab.PolicyReport{{Policy: "default", Figures: figures(0, 1, 0)}}},
	}
}

func TestTheLabsTableHasEveryFigureWithItsVerdict(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := Lab(&out, labReports(), Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"G3  one is slow (20 seeds)\n",
		"POLICY   over ≤ 0.002        P50 ms  P99 ms  ERRORS  ATTEMPTS  DRAIN s\n",
		"default  0.001 ±0.0001 ok    71.2    540     0       1.05      80\n",
		"linear   0.087 ±0.009 FAILS  71.2    45387   0       1.05      80 (never: 20)\n",
		"\nfree  no gate (1 seed)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}

func TestAGateIsHeldWhenTheFirstPolicyHoldsIt(t *testing.T) {
	t.Parallel()
	reports := labReports()
	var out bytes.Buffer
	held, err := LabSummary(&out, reports, Style{})
	if err != nil || !held || !strings.Contains(out.String(), "gates, held by default?") || !strings.Contains(out.String(), "ok     G3\n") || strings.Contains(out.String(), "free") {
		t.Errorf("held %t, %v:\n%s", held, err, out.String())
	}
	out.Reset()
	reports[0].Policies = reports[0].Policies[1:]
	held, err = LabSummary(&out, reports, Style{})
	if err != nil || held || !strings.Contains(out.String(), "FAILS  G3  over ≤ 0.002: 0.087 ±0.009\n") {
		t.Errorf("held %t, %v:\n%s", held, err, out.String())
	}
}

func TestAFigureThatMissesByLittleShowsByHowMuch(t *testing.T) {
	t.Parallel()
	near := lab.Verdict{Figure: lab.Figure{Mean: 1.2004, Low: 1.19, High: 1.21}, Limit: 1.2}
	if got := judged(near); got != "1.2004" {
		t.Errorf("said: %s", got)
	}
	near.Holds = true
	if got := judged(near); got != "1.2 ±0.01" {
		t.Errorf("held: %s", got)
	}
}
