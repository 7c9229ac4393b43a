package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Mermaid draws the graph as a Mermaid flowchart: solid arrows are edges, dotted
// ones are taken on a condition, a doubled box is a fan-out, a hexagon asks or
// pauses. The same graph always gives the same text.
func (g *Graph) Mermaid() string {
	d := &drawing{g: g, ids: map[string]string{Start: "start_", End: "end_"}}
	for i, n := range g.nodes {
		d.ids[n.Name] = fmt.Sprintf("n%d", i)
	}
	d.line("flowchart TD")
	d.line("  start_([start])")
	for _, n := range g.nodes {
		d.node(n)
	}
	d.line("  end_([end])")
	d.exits(Start, g.start)
	for _, n := range g.nodes {
		d.exits(n.Name, n.exits)
		for _, to := range slices.Compact(slices.Sorted(slices.Values(n.Goto))) {
			d.line(fmt.Sprintf("  %s -.-> %s", d.ids[n.Name], d.ids[to]))
		}
	}
	for i, j := range g.joins {
		d.line(fmt.Sprintf("  j%d{{all}} --> %s", i, d.ids[g.nodes[j.to].Name]))
	}
	return d.b.String()
}

type drawing struct {
	g   *Graph
	b   strings.Builder
	ids map[string]string
}

func (d *drawing) line(s string) {
	d.b.WriteString(s)
	d.b.WriteByte('\n')
}

func (d *drawing) node(n node) {
	open, end := "[", "]"
	switch {
	case n.PauseBefore || n.PauseAfter:
		open, end = "{{", "}}"
	case n.Each != nil:
		open, end = "[[", "]]"
	}
	d.line(fmt.Sprintf("  %s%s\"%s\"%s", d.ids[n.Name], open, label(n.Name), end))
}

func (d *drawing) exits(from string, x exits) {
	for _, to := range x.next {
		d.line(fmt.Sprintf("  %s --> %s", d.ids[from], d.ids[d.g.nodes[to].Name]))
	}
	if x.end {
		d.line(fmt.Sprintf("  %s --> end_", d.ids[from]))
	}
	for _, j := range x.joins {
		d.line(fmt.Sprintf("  %s --> j%d", d.ids[from], j))
	}
	for _, r := range x.routes {
		for _, to := range d.g.spec.Routes[r].To {
			d.line(fmt.Sprintf("  %s -.-> %s", d.ids[from], d.ids[to]))
		}
	}
}

// label keeps a name from ending its quotes or starting markup.
func label(s string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(s)
}
