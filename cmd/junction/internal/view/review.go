package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"junction/router"
	"junction/router/review"
	"junction/state"
)

// NewReview makes what the server said of itself fit for a terminal.
func NewReview(rv *review.Review) *review.Review {
	s := &rv.Server
	s.Name, s.Version, s.Error = line(s.Name), line(s.Version), Clean(s.Error)
	for i := range rv.Findings {
		f := &rv.Findings[i]
		for _, text := range []*string{&f.Tool, &f.Says, &f.Then, &f.Fix, &f.Paste} {
			*text = Clean(*text)
		}
	}
	for i := range rv.Tools {
		t := &rv.Tools[i]
		for _, text := range []*string{&t.Capability, &t.Name, &t.Verify, &t.Boundary, &t.Key, &t.Ledger} {
			*text = Clean(*text)
		}
	}
	return rv
}

// Review prints a server's reliability review: what is risky first.
func Review(w io.Writer, rv *review.Review, s Style) error {
	p := &reviewPrinter{printer{w: w}, s}
	p.server(rv)
	p.findings(rv.Findings)
	p.tools(rv.Tools)
	p.retry(rv)
	p.races(rv)
	p.title("Clocks of an attempt; the caller's deadline stands above both")
	p.table(nil, [][]string{
		{"idle", took(millisOf(rv.Clocks.IdleMS)), "set back by progress that rises, and by nothing else"},
		{"maximum", took(millisOf(rv.Clocks.MaxMS)), "never set back; queueing and connecting count"},
	})
	p.bounds("Queues and retries", rv.Queue)
	p.bounds("Flow", rv.Flow)
	p.recovery(&rv.Recovery)
	p.faults(rv.Faults)
	return p.err
}

type reviewPrinter struct {
	printer
	s Style
}

func (p *reviewPrinter) title(format string, args ...any) {
	p.f("\n%s\n", p.s.paint(bold, fmt.Sprintf(format, args...)))
}

// table prints rows in columns, the head faint.
func (p *reviewPrinter) table(head []string, rows [][]string) {
	var text strings.Builder
	tw := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	t := &printer{w: tw}
	if head != nil {
		rows = append([][]string{head}, rows...)
	}
	for _, row := range rows {
		t.f("  %s\n", strings.Join(row, "\t"))
	}
	p.err = cmp.Or(p.err, t.err, tw.Flush())
	for i, l := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		l = strings.TrimRight(l, " ")
		if i == 0 && head != nil {
			l = p.s.paint(faint, l)
		}
		p.f("%s\n", l)
	}
}

func (p *reviewPrinter) server(rv *review.Review) {
	s, t := &rv.Server, &rv.Transport
	mark := p.s.paint(good, "✓")
	if s.Error != "" {
		mark = p.s.paint(bad, "✗")
	}
	p.f("%s %s", mark, p.s.paint(bold, Clean(s.ID)))
	for _, part := range []string{s.Name, s.Version} {
		if part != "" {
			p.f(" %s", part)
		}
	}
	if s.Protocol != "" {
		p.f(", MCP %s", s.Protocol)
	}
	p.f(" over %s\n", strings.TrimSpace(string(t.Kind)+" "+s.Endpoint))
	p.table(nil, [][]string{
		{"era", t.Era}, {"session", t.Session}, {"cancel", string(t.Cancel)},
		{"credentials", cmp.Or(Clean(strings.Join(t.Credentials, ", ")), "none")},
	})
}

func (p *reviewPrinter) findings(found []review.Finding) {
	risks := 0
	for _, f := range found {
		if f.Level == review.Risk {
			risks++
		}
	}
	if len(found) == 0 {
		p.title("Findings: none")
		return
	}
	p.title("Findings: %s, %s", Count(risks, "risk"), Count(len(found)-risks, "note"))
	for _, f := range found {
		mark := p.s.paint(warn, "·")
		if f.Level == review.Risk {
			mark = p.s.paint(bad, "✗")
		}
		about := ""
		if f.Tool != "" {
			about = p.s.paint(bold, Clean(f.Tool)) + ": "
		}
		p.f("  %s %s%s %s\n", mark, about, indented(f.Says, "      "), p.s.paint(faint, "["+f.Rule+"]"))
		p.f("      %s\n      fix: %s\n", f.Then, f.Fix)
		if f.Paste != "" {
			p.f("%s\n", p.s.paint(good, "        "+indented(strings.TrimSuffix(f.Paste, "\n"), "        ")))
		}
	}
}

func indented(text, by string) string { return strings.ReplaceAll(text, "\n", "\n"+by) }

func (p *reviewPrinter) tools(tools []review.Tool) {
	p.title("Operations")
	if len(tools) == 0 {
		p.f("  none\n")
		return
	}
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{
			cmp.Or(Clean(t.Capability), "–"), Clean(t.Name), string(t.Effect), t.From, cmp.Or(strings.Join(t.Hints, ", "), "–"), cmp.Or(Clean(t.Key), "–"), cmp.Or(Clean(t.Verify), "–"),
			schemas(t), Clean(t.Boundary),
		})
	}
	p.table([]string{"capability", "tool", "effect", "says", "its hints", "key", "verify", "schemas", "happens once within"}, rows)
}

func schemas(t review.Tool) string {
	switch {
	case t.Missing:
		return "no such tool"
	case t.Held != "":
		return "held back"
	case t.Input && t.Output:
		return "in, out"
	case t.Input:
		return "in"
	case t.Output:
		return "out"
	}
	return "none"
}

// retry prints the table for the effects that the server's tools have.
func (p *reviewPrinter) retry(rv *review.Review) {
	p.title("What follows a failure")
	var effects []state.Effect
	for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		var names []string
		for _, t := range rv.Tools {
			if t.Effect == e && !slices.Contains(names, Clean(t.Name)) {
				names = append(names, Clean(t.Name))
			}
		}
		if len(names) > 0 {
			effects = append(effects, e)
			p.f("  %s: %s\n", e, strings.Join(names, ", "))
		}
	}
	head := []string{"code", "execution"}
	for _, e := range effects {
		head = append(head, string(e))
	}
	var rows [][]string
	last := router.Code("")
	for _, r := range rv.Retry {
		row := []string{string(r.Code), strings.ReplaceAll(string(r.Execution), "_", " ")}
		if r.Code == last {
			row[0] = ""
		}
		last = r.Code
		if r.Usual {
			row[1] += " *"
		}
		for _, e := range effects {
			row = append(row, r.Next(e).Says())
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
	p.f("  * where nothing else is known. 429, and 503 with Retry-After, are not executed. A ledger that still\n" +
		"    works on the key is waited for. Every step is within the budget of retries below.\n")
}

func (p *reviewPrinter) races(rv *review.Review) {
	p.title("Who wins a race (%s)", rv.Transport.Kind)
	var rows [][]string
	for _, r := range rv.Races {
		rows = append(rows, []string{r.Order, r.Terminal(), r.Final, string(r.Wire), r.Loser()})
	}
	p.table([]string{"order", "terminal state", "final response", "wire signal", "ignored event"}, rows)
}

func (p *reviewPrinter) bounds(title string, bounds []review.Bound) {
	p.title("%s", title)
	var rows [][]string
	for _, b := range bounds {
		rows = append(rows, []string{b.What, b.Limit, b.Then})
	}
	p.table([]string{"what", "limit", "at the limit"}, rows)
}

func (p *reviewPrinter) recovery(r *review.Recovery) {
	p.title("Recovery")
	rows := [][]string{
		{"reconnect", r.Connect},
		{"within", r.Within},
		{"read again", strings.Join(r.Reread, ", ")},
		{"Last-Event-ID", "never sent"},
		{"in flight", r.InFlight},
		{"tasks", r.Tasks},
	}
	if s := r.Subscription; s != nil {
		rows = append(rows, []string{"subscription", fmt.Sprintf("%s under a new id with the same filter; then %s", s.Method, strings.Join(s.Reread, ", "))})
	}
	p.table(nil, rows)
}

func (p *reviewPrinter) faults(faults []review.Fault) {
	p.title("Faults, and the test that brings each about")
	for _, f := range faults {
		p.f("  %s: %s\n    → %s", f.Name, f.Symptom, f.Response)
		if f.Fixture != "" {
			p.f("  %s", p.s.paint(faint, f.Fixture))
		}
		p.f("\n")
	}
}

func millisOf(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
