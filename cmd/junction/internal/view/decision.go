package view

import (
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fmt"

	"junction/router"
)

// Decision prints candidates, weights, rejections and the pick.
func Decision(w io.Writer, d router.Decision, s Style) error {
	p := &printer{w: w}
	printDecision(p, d, "", s)
	return p.err
}

func printDecision(p *printer, d router.Decision, indent string, s Style) {
	if d.Picked == "" {
		p.f("%s%s\n", indent, s.paint(bad, "no candidate"))
	} else {
		p.f("%spicked %s by %s (%s), seed %d, draw %.4f\n", indent, s.paint(bold, Clean(d.Picked)), d.Policy, d.Transform, d.Seed, d.Draw)
	}
	if p.err != nil {
		return
	}
	total := 0.0
	for _, c := range d.Candidates {
		total += c.Weight
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	t := &printer{w: tw}
	for _, c := range d.Candidates {
		mark := " "
		if c.Server == d.Picked {
			mark = "*"
		}
		share := 0.0
		if total > 0 {
			share = 100 * c.Weight / total
		}
		t.f("%s %s %s\tweight %.3f\t%.0f%%\tmatch %.2f\thealth %.3f\t%s\n", indent, mark, Clean(c.Server), c.Weight, share, c.Match, c.Health, terms(c.Terms))
	}
	for _, r := range d.Rejected {
		t.f("%s - %s\trejected\t\t%s\t%s\n", indent, Clean(r.Server), r.Reason, line(r.Detail))
	}
	p.err = t.err
	if err := tw.Flush(); p.err == nil {
		p.err = err
	}
	if d.Omitted > 0 {
		p.f("%s   and %d more candidates\n", indent, d.Omitted)
	}
	if d.Stale {
		p.f("%s   decided on the last known servers: the registry could not be reached\n", indent)
	}
}

func terms(m map[string]float64) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s=%.3g", name, m[name])
	}
	return strings.Join(parts, " ")
}
