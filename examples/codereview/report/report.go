// Package report writes what a review found as Markdown. The same input gives
// the same bytes: no time, no server and no order of answering is in it.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"junction/examples/codereview/reviewer"
)

// Input is what a report is made of.
type Input struct {
	Repo     string             `json:"repo"`
	Revision string             `json:"revision"`
	Base     string             `json:"base"` // "": the whole tree was read
	Findings []reviewer.Finding `json:"findings"`
	Files    []File             `json:"files"`
	Skipped  []Skipped          `json:"skipped"`
}

// File is a file that was read.
type File struct {
	Path       string `json:"path"`
	Status     string `json:"status"`
	Language   string `json:"language"`
	Reviewable bool   `json:"reviewable"`
	Reason     string `json:"reason"` // why no language reviewer saw it
}

// Skipped is a file that was not read.
type Skipped struct {
	Path   string `json:"path"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// Output is a report.
type Output struct {
	Markdown        string                    `json:"markdown"`
	SeveritySummary map[reviewer.Severity]int `json:"severity_summary"`
}

// maxNames bounds the names listed for one reason.
const maxNames = 20

// Render writes the report.
func Render(in Input) Output {
	findings := slices.Clone(in.Findings)
	reviewer.Sort(findings)
	findings = slices.Compact(findings)

	out := Output{SeveritySummary: make(map[reviewer.Severity]int)}
	for _, s := range reviewer.Severities() {
		out.SeveritySummary[s] = 0
	}
	for _, f := range findings {
		out.SeveritySummary[f.Severity]++
	}
	var b strings.Builder
	heading(&b, in, out.SeveritySummary, len(findings))
	issues(&b, findings)
	reviewed(&b, in.Files)
	left(&b, in)
	out.Markdown = b.String()
	return out
}

func heading(b *strings.Builder, in Input, counts map[reviewer.Severity]int, total int) {
	fmt.Fprintf(b, "# Code review of %s\n\n", code(in.Repo))
	what := fmt.Sprintf("Commit %s against its parent %s", code(short(in.Revision)), code(short(in.Base)))
	if in.Base == "" {
		what = fmt.Sprintf("Commit %s, the whole tree", code(short(in.Revision)))
	}
	fmt.Fprintf(b, "%s: %s read, %s skipped.\n\n", what, plural(len(in.Files), "file"), plural(len(in.Skipped), "file"))
	if total == 0 {
		b.WriteString("Nothing was found.\n")
		return
	}
	var parts []string
	for _, s := range reviewer.Severities() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	fmt.Fprintf(b, "**%s**: %s.\n", plural(total, "finding"), strings.Join(parts, ", "))
}

func issues(b *strings.Builder, findings []reviewer.Finding) {
	for _, s := range reviewer.Severities() {
		first := true
		for _, f := range findings {
			if f.Severity != s {
				continue
			}
			if first {
				fmt.Fprintf(b, "\n## %s\n\n", title(string(s)))
				first = false
			}
			fmt.Fprintf(b, "- %s %s (%s, %s)\n", code(place(f)), text(f.Message), f.Reviewer, f.Rule)
		}
	}
}

func place(f reviewer.Finding) string {
	switch {
	case f.Line == 0:
		return f.Path
	case f.Column == 0:
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.Path, f.Line, f.Column)
}

func reviewed(b *strings.Builder, files []File) {
	if len(files) == 0 {
		return
	}
	counts := make(map[string]int)
	for _, f := range files {
		if f.Reviewable {
			counts[f.Language]++
		}
	}
	b.WriteString("\n## Reviewers\n\n")
	for _, l := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "- %s: %s\n", l, plural(counts[l], "file"))
	}
	fmt.Fprintf(b, "- secrets: %s\n", plural(len(files), "file"))
}

// left lists, by reason, the files no language reviewer saw, and those that
// were not read at all.
func left(b *strings.Builder, in Input) {
	unreviewed, skipped := make(map[string][]string), make(map[string][]string)
	for _, f := range in.Files {
		if !f.Reviewable {
			unreviewed[f.Reason] = append(unreviewed[f.Reason], f.Path)
		}
	}
	for _, s := range in.Skipped {
		skipped[s.Reason] = append(skipped[s.Reason], s.Path)
	}
	byReason(b, "Searched for secrets only", unreviewed)
	byReason(b, "Skipped", skipped)
}

func byReason(b *strings.Builder, heading string, groups map[string][]string) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", heading)
	for _, reason := range slices.Sorted(maps.Keys(groups)) {
		names := groups[reason]
		slices.Sort(names)
		quoted := make([]string, 0, maxNames)
		for _, n := range names[:min(len(names), maxNames)] {
			quoted = append(quoted, code(n))
		}
		fmt.Fprintf(b, "- %s: %s", text(reason), strings.Join(quoted, ", "))
		if more := len(names) - maxNames; more > 0 {
			fmt.Fprintf(b, " and %d more", more)
		}
		b.WriteString("\n")
	}
}

// code sets a name in code, quoted where it would break the line or the code.
func code(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != ' ' }) {
		s = strconv.Quote(s)
	}
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// tag is what Markdown would take for HTML.
var tag = regexp.MustCompile(`<([A-Za-z/!?])`)

// text keeps a message on its line and out of the page's HTML. The rest of it is
// left as it reads best in a terminal.
func text(s string) string {
	return tag.ReplaceAllString(strings.Join(strings.Fields(s), " "), `\<$1`)
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func short(id string) string { return cmp.Or(id[:min(12, len(id))], "none") }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
