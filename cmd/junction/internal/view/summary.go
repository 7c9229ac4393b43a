package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"junction/state"
)

// Summary prints an outcome for people: the report if the workflow made one,
// which server did what, and what comes next.
func Summary(w io.Writer, o Outcome, s Style) error {
	p := &printer{w: w}
	if report, ok := o.State["report"].(string); ok && strings.TrimSpace(report) != "" {
		p.f("%s\n\n", strings.TrimSpace(Clean(report)))
	} else if o.Status == state.StatusCompleted {
		p.f("%s\n", s.paint(bold, "Result"))
		printState(p, o.State)
	}
	printLoad(p, o.Hops)
	switch {
	case o.Drained:
		p.f("\n%s thread %s; what has finished is kept\n  go on: %s\n", s.paint(warn, "stopped:"), o.Thread, s.Resume)
	case o.Status == state.StatusCompleted:
		p.f("\n%s thread %s\n", s.paint(good, "completed:"), o.Thread)
	case o.Status == state.StatusInterrupted:
		p.f("\n%s thread %s\n", s.paint(warn, "waiting for an answer:"), o.Thread)
		printQuestions(p, o.Interrupts, s)
	default:
		p.f("\n%s thread %s\n", s.paint(bad, string(o.Status)+":"), o.Thread)
		if o.Error != nil {
			p.f("  %s%s: %s\n", at(o.Error.Node), o.Error.Code, strings.ReplaceAll(reason(o.Error.Node, o.Error.Message), "\n", "\n  "))
		}
		if o.Cause != nil {
			o.Cause.print(p, true)
		}
		printUnknown(p, o.Hops)
		p.f("  why:   %s\n  go on: %s\n", s.Explain, s.Resume)
	}
	return p.err
}

// printUnknown names the calls that were cut off and may have taken effect.
func printUnknown(p *printer, hops []Hop) {
	for _, h := range hops {
		last := h.Attempts[len(h.Attempts)-1]
		if last.Execution == state.Unknown && h.Effect != state.Safe {
			p.f("  open:  nobody knows whether %s at %s took effect; resume settles it\n", Clean(h.Tool), Clean(last.Server))
		}
	}
}

func at(node string) string {
	if node == "" {
		return ""
	}
	return "node " + node + ": "
}

// printState prints the channels that fit a line or two.
func printState(p *printer, channels map[string]any) {
	names := make([]string, 0, len(channels))
	for name := range channels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := json.Marshal(channels[name])
		if err != nil {
			p.f("  %s: %v\n", name, err)
			continue
		}
		p.f("  %s: %s\n", name, shorten(line(string(text)), 160))
	}
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func printQuestions(p *printer, questions []Question, s Style) {
	for _, q := range questions {
		p.f("  %s %s\n", s.paint(bold, q.Node), questionText(q.Value))
		if pauseOf(q.Value) != "" {
			p.f("    go on:  %s\n", s.Resume)
			continue
		}
		printShown(p, q.Value)
		id := ""
		if len(questions) > 1 {
			id = q.ID + "="
		}
		word := "answer:"
		for _, answer := range answers(q.Schema) {
			p.f("    %s %s --answer %s%s\n", word, s.Resume, id, answer)
			word = "or:    "
		}
	}
}

// printShown prints what a question shows beside its text, a line an item.
func printShown(p *printer, value json.RawMessage) {
	const most = 10
	var q struct {
		Show json.RawMessage `json:"show"`
	}
	if json.Unmarshal(value, &q) != nil || len(q.Show) == 0 || string(q.Show) == "null" {
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(q.Show, &items) != nil {
		items = []json.RawMessage{q.Show}
	}
	for i, item := range items {
		if i == most {
			p.f("      and %d more\n", len(items)-most)
			break
		}
		p.f("      %s\n", shorten(line(itemText(item)), 160))
	}
}

// itemText is a finding as path:line message, and anything else as it is.
func itemText(item json.RawMessage) string {
	var f struct {
		Path, Message, Severity string
		Line                    int
	}
	if json.Unmarshal(item, &f) != nil || f.Path == "" || f.Message == "" {
		return string(item)
	}
	return fmt.Sprintf("%s:%d %s (%s)", f.Path, f.Line, f.Message, f.Severity)
}

// pauseOf is when a node with a pause stopped, "before" or "after" it ran; "" of
// a question, which needs an answer.
func pauseOf(value json.RawMessage) string {
	var v map[string]string
	if json.Unmarshal(value, &v) != nil || len(v) != 2 || v["node"] == "" {
		return ""
	}
	return v["pause"]
}

// questionText is a question for people: its question field where there is one.
func questionText(value json.RawMessage) string {
	switch pauseOf(value) {
	case "before":
		return "pauses before it runs"
	case "after":
		return "pauses after it ran, before its writes count"
	}
	var q struct {
		Question string `json:"question"`
	}
	if json.Unmarshal(value, &q) == nil && q.Question != "" {
		return line(q.Question)
	}
	return shorten(line(string(value)), 200)
}

// load is what one server did in a run.
type load struct {
	server             string
	calls, failed, cut int
	millis             float64
	what               []string
}

// loadsOf adds up the attempts by server, sorted by its name.
func loadsOf(hops []Hop) []*load {
	by := map[string]*load{}
	var all []*load
	for _, h := range hops {
		for _, a := range h.Attempts {
			if a.Server == "" {
				continue // no server was found: nobody was called
			}
			l := by[a.Server]
			if l == nil {
				l = &load{server: a.Server}
				by[a.Server] = l
				all = append(all, l)
			}
			l.calls++
			l.millis += a.DurationMS
			switch a.Status {
			case state.CallSuccess:
			case state.CallCancelled: // by a person or a failed sibling: not the server's doing
				l.cut++
			default:
				l.failed++
			}
			if what := fallback(h.Capability, h.Tool); !slices.Contains(l.what, what) {
				l.what = append(l.what, what)
			}
		}
	}
	slices.SortFunc(all, func(a, b *load) int { return strings.Compare(a.server, b.server) })
	return all
}

// printLoad prints which server did what.
func printLoad(p *printer, hops []Hop) {
	loads := loadsOf(hops)
	if len(loads) == 0 || p.err != nil {
		return
	}
	cut := slices.ContainsFunc(loads, func(l *load) bool { return l.cut > 0 })
	column := func(s string) string {
		if !cut {
			return ""
		}
		return s + "\t"
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	t := &printer{w: tw}
	t.f("SERVER\tCALLS\tFAILED\t%sMEAN\tFOR\n", column("CUT OFF"))
	for _, l := range loads {
		slices.Sort(l.what)
		t.f("%s\t%d\t%d\t%s%.0f ms\t%s\n", Clean(l.server), l.calls, l.failed, column(strconv.Itoa(l.cut)), l.millis/float64(l.calls), Clean(strings.Join(l.what, ", ")))
	}
	p.err = t.err
	if err := tw.Flush(); p.err == nil {
		p.err = err
	}
}

func fallback(s, other string) string {
	if s != "" {
		return s
	}
	return fmt.Sprintf("%s (tool)", other)
}
