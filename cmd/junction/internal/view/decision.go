package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"junction/health"
	"junction/router"
)

// Decision prints candidates, weights, rejections and the pick.
func Decision(w io.Writer, d router.Decision, s Style) error {
	p := &printer{w: w}
	printDecision(p, d, "", s)
	return p.err
}

// otherCapability is the reason to reject servers that were never meant: of the
// hundreds a fleet may have, they are only counted where something was picked.
const otherCapability = "capability"

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
	strangers := 0
	for _, r := range d.Rejected {
		if r.Reason == otherCapability && d.Picked != "" {
			strangers++
			continue
		}
		t.f("%s - %s\trejected\t\t%s\t%s\n", indent, Clean(r.Server), r.Reason, line(r.Detail))
	}
	p.err = t.err
	if err := tw.Flush(); p.err == nil {
		p.err = err
	}
	if len(d.Reasons) > 0 { // of so many servers, the record holds no more
		p.f("%s   rejected: %s\n", indent, counts(d.Reasons))
	}
	if strangers > 0 {
		p.f("%s   and %s without this capability\n", indent, Count(strangers, "server"))
	}
	if d.Omitted > 0 {
		p.f("%s   and %d more candidates\n", indent, d.Omitted)
	}
	if d.Stale {
		p.f("%s   decided on the last known servers: the registry could not be reached\n", indent)
	}
}

// counts lists how many servers were rejected for each reason.
func counts(reasons map[string]int) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, fmt.Sprintf("%d for %s", reasons[reason], reason))
	}
	return strings.Join(parts, ", ")
}

func terms(all health.Terms) string {
	parts := make([]string, 0, len(all))
	for _, term := range all.Sorted() {
		parts = append(parts, fmt.Sprintf("%s=%.3g", term.Name, term.Value))
	}
	return strings.Join(parts, " ")
}
