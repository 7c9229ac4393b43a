package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"junction/router/lab"
)

// Lab prints what scenarios came to: for each a line a policy, with the figure and
// the verdict of every check, then what else is worth knowing.
func Lab(w io.Writer, reports []lab.Report, s Style) error {
	p := &printer{w: w}
	for i := range reports {
		if i > 0 {
			p.f("\n")
		}
		labReport(p, &reports[i], s)
	}
	return p.err
}

// beside are the metrics printed beside the checks.
var beside = []lab.Metric{lab.P50, lab.P99, lab.Over, lab.Errors, lab.Attempts}

func labReport(p *printer, r *lab.Report, s Style) {
	seeds := Count(len(r.Seeds), "seed")
	p.f("%s  %s (%s)\n", s.paint(bold, Clean(r.Scenario)), Clean(r.About), seeds)
	if p.err != nil || len(r.Policies) == 0 {
		return
	}
	checks, heads := checksOf(r), []string{"POLICY"}
	heads = append(heads, checks...)
	var shown []lab.Metric
	for _, m := range append(slices.Clone(beside), lab.Share, lab.Drain, lab.Recover) {
		if always(r) && (m == lab.Drain || m == lab.Recover) {
			continue // it has no trouble to be drained in
		}
		if slices.ContainsFunc(r.Policies, func(p lab.PolicyReport) bool { _, ok := p.Figure(m); return ok }) && !checked(checks, m) {
			shown, heads = append(shown, m), append(heads, heading(m))
		}
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	t := &printer{w: tw}
	t.f("%s\n", strings.Join(heads, "\t"))
	for i := range r.Policies {
		policy := &r.Policies[i]
		cells := []string{policy.Policy}
		for _, c := range checks {
			cells = append(cells, verdict(r, policy.Policy, c))
		}
		for _, m := range shown {
			cell := "-"
			if f, ok := policy.Figure(m); ok {
				cell = mean(f)
			}
			cells = append(cells, cell)
		}
		t.f("%s\n", strings.Join(cells, "\t"))
	}
	if p.err = t.err; p.err == nil {
		p.err = tw.Flush()
	}
}

// always: the watched server is all the time as it is.
func always(r *lab.Report) bool {
	series := r.Policies[0].Series
	return len(r.Trouble) == 1 && len(series) > 0 && r.Trouble[0].From == 0 && r.Trouble[0].To >= series[len(series)-1].At
}

// checksOf are the report's checks in their order.
func checksOf(r *lab.Report) []string {
	var all []string
	for _, v := range r.Verdicts {
		if !slices.Contains(all, v.Check) {
			all = append(all, v.Check)
		}
	}
	return all
}

// checked: there is a check of the bare metric, so it need not be printed again.
func checked(checks []string, m lab.Metric) bool {
	return slices.ContainsFunc(checks, func(c string) bool {
		word, rest, _ := strings.Cut(c, " ")
		return word == string(m) && !strings.Contains(rest, "×")
	})
}

func verdict(r *lab.Report, policy, check string) string {
	for _, v := range r.Verdicts {
		if v.Policy != policy || v.Check != check {
			continue
		}
		word := "FAILS"
		if v.Holds {
			word = "ok"
		}
		return judged(v) + " " + word
	}
	return "-"
}

// judged is a check's figure, with the digits that tell it from the limit it misses.
func judged(v lab.Verdict) string {
	if !v.Holds && digits(v.Figure.Mean) == digits(v.Limit) {
		return fmt.Sprintf("%.5g", v.Figure.Mean)
	}
	return figure(v.Figure)
}

// heading is a metric with its unit; shares are printed in per cent.
func heading(m lab.Metric) string {
	name := strings.ReplaceAll(strings.ToUpper(string(m)), "_", " ")
	if u := m.Unit(); u != "" {
		return name + " " + u
	}
	return name
}

// mean is a figure without its interval.
func mean(f lab.Figure) string {
	if f.Never > 0 {
		return fmt.Sprintf("%s (never: %d)", digits(f.Mean), f.Never)
	}
	return digits(f.Mean)
}

// digits is a number with what counts of it.
func digits(x float64) string {
	if x >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// figure is a figure with half of its interval.
func figure(f lab.Figure) string {
	half := (f.High - f.Low) / 2
	if half < 0.0005*f.Mean || half == 0 {
		return mean(f)
	}
	if half >= 10 {
		return fmt.Sprintf("%s ±%.0f", mean(f), half)
	}
	return fmt.Sprintf("%s ±%.1g", mean(f), half)
}

// LabSummary says gate by gate whether the policy that is asked about holds it, and
// whether it holds all.
func LabSummary(w io.Writer, reports []lab.Report, s Style) (held bool, err error) {
	p := &printer{w: w}
	held = true
	gates := 0
	for i := range reports {
		r := &reports[i]
		if len(r.Verdicts) == 0 || len(r.Policies) == 0 {
			continue
		}
		if gates++; gates == 1 {
			p.f("\n%s\n", s.paint(bold, "gates, held by "+r.Policies[0].Policy+"?"))
		}
		first := r.Policies[0].Policy
		word, failing := s.paint(good, "ok   "), ""
		if !r.Passed(first) {
			held = false
			word = s.paint(bad, "FAILS")
			for _, v := range r.Verdicts {
				if v.Policy == first && !v.Holds {
					failing += fmt.Sprintf("  %s: %s", v.Check, judged(v))
				}
			}
		}
		p.f("  %s  %s%s\n", word, Clean(r.Scenario), failing)
	}
	return held, p.err
}
