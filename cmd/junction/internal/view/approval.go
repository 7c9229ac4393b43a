package view

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"junction/router"
	"junction/router/static"
)

// Approval is what approving the tools of pinned servers changes, as servers
// --approve prints it.
type Approval struct {
	Lock        string        `json:"lock"` // path of the file of approvals
	Changes     []ToolChange  `json:"changes"`
	Unreachable []Unreachable `json:"unreachable,omitempty"`
	Written     bool          `json:"written"`
}

// ToolChange is a tool that is not as it was approved.
type ToolChange struct {
	Server string `json:"server"`
	static.Change
	Description string `json:"description,omitempty"` // as it is now
}

// Unreachable is a server of which nothing can be said.
type Unreachable struct {
	Server string `json:"server"`
	Error  string `json:"error"`
}

// Add takes in the changes of a server that has these tools now.
func (a *Approval) Add(server string, changes []static.Change, now []router.Tool) {
	for _, c := range changes {
		t := ToolChange{Server: server, Change: c}
		for i := range now {
			if now[i].Name == c.Tool {
				t.Description = now[i].Description
			}
		}
		a.Changes = append(a.Changes, t)
	}
}

// longestShown is how many characters of a description are printed; what is left out
// is said, and stands in the JSON document.
const longestShown = 4000

// visible shows every character of a text that is to be approved: those that a person
// does not see, and a model reads, as \u{…}.
func visible(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > longestShown {
			continue
		}
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u{%x}`, r)
	}
	if n > longestShown {
		fmt.Fprintf(&b, "… and %d more characters: --json prints all", n-longestShown)
	}
	return b.String()
}

// Approvals prints what would be approved, with the descriptions as a model would
// read them: they are what an approval is about.
func Approvals(w io.Writer, a Approval, s Style) error {
	p := &printer{w: w}
	server := ""
	for _, c := range a.Changes {
		if c.Server != server {
			server = c.Server
			p.f("%s\n", s.paint(bold, Clean(server)))
		}
		switch c.Kind {
		case "added":
			p.f("  %s %s  new\n", s.paint(good, "+"), line(c.Tool))
		case "removed":
			p.f("  %s %s  gone\n", s.paint(bad, "-"), line(c.Tool))
			continue
		default:
			p.f("  %s %s  changed: %s\n", s.paint(warn, "~"), line(c.Tool), strings.Join(c.Parts, ", "))
		}
		if text := visible(strings.TrimSpace(c.Description)); text != "" {
			p.f("      %s\n", strings.ReplaceAll(text, "\n", "\n      "))
		}
	}
	for _, u := range a.Unreachable {
		p.f("%s %s  %s\n", s.paint(bad, "✗"), Clean(u.Server), strings.ReplaceAll(u.Error, "\n", "\n    "))
	}
	if len(a.Changes) == 0 && len(a.Unreachable) == 0 {
		p.f("every tool of the pinned servers is as it was approved\n")
	}
	return p.err
}
