// Package reviewer is what the example review servers share: the code-review
// contract and the findings they report.
//
// A review is deterministic: the same request gives the same findings in the
// same order, whichever instance answers, so a run that failed over to another
// server, or was resumed, ends with the same report.
package reviewer

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Severity says how much a finding matters. High stops the example workflow
// until a person has answered.
type Severity string

// The severities, least first.
const (
	Info   Severity = "info"
	Low    Severity = "low"
	Medium Severity = "medium"
	High   Severity = "high"
)

// Severities lists every severity, most serious first.
func Severities() []Severity { return []Severity{High, Medium, Low, Info} }

// Depth is how far a review goes.
type Depth string

// The depths a server can declare.
const (
	Shallow         Depth = "shallow"
	Deep            Depth = "deep"
	SecurityFocused Depth = "security-focused"
)

// Finding is one fault at one place.
type Finding struct {
	Path     string   `json:"path"`
	Line     int      `json:"line"`   // from 1; 0: the whole file
	Column   int      `json:"column"` // in bytes from 1; 0: the whole line
	Severity Severity `json:"severity"`
	Rule     string   `json:"rule"`
	Message  string   `json:"message"`
	Reviewer string   `json:"reviewer"` // the kind of reviewer, not the instance
}

// Context says where the code comes from. Reviewers that look further than one
// file need all of it.
type Context struct {
	Repo     string `json:"repo,omitempty"`
	Path     string `json:"path,omitempty"` // from the repository's root, with slashes
	Revision string `json:"revision,omitempty"`
}

// Request is one file to review.
type Request struct {
	Code     string  `json:"code"`
	Language string  `json:"language"`
	Context  Context `json:"context,omitzero"`
}

// Path is the name findings are reported under.
func (r Request) Path() string {
	if r.Context.Path == "" {
		return "code." + r.Language
	}
	return r.Context.Path
}

// Review is a reviewer's answer.
type Review struct {
	Issues          []Finding        `json:"issues"`
	SeveritySummary map[Severity]int `json:"severity_summary"` // every severity, zero included
	Suggestions     []string         `json:"suggestions"`
}

// Reviewer finds faults in one file.
type Reviewer interface {
	// Name is the kind of reviewer: "go", "secrets", …
	Name() string
	// Languages are those it reviews.
	Languages() []string
	// Review returns its findings. Faults of the code are findings, never
	// errors; an error means that no review took place.
	Review(ctx context.Context, r Request) (Review, error)
	// Close removes what the reviewer keeps on disk.
	Close() error
}

// Within moves findings past the last line, where parsers see the end of the
// file, to the end of that line.
func Within(code string, issues []Finding) []Finding {
	lines := strings.Split(strings.TrimRight(code, "\r\n"), "\n")
	for i := range issues {
		if f := &issues[i]; f.Line > len(lines) {
			f.Line, f.Column = len(lines), len(strings.TrimRight(lines[len(lines)-1], "\r"))+1
		}
	}
	return issues
}

// Conclude sorts the findings, counts them and fills in the lists, so that none
// of them is null in JSON. Exact repetitions are dropped.
func Conclude(name string, issues []Finding, suggestions ...string) Review {
	r := Review{
		Issues:          slices.Clone(issues),
		SeveritySummary: make(map[Severity]int),
		Suggestions:     append([]string{}, suggestions...),
	}
	for i := range r.Issues {
		r.Issues[i].Reviewer = name
	}
	Sort(r.Issues)
	r.Issues = slices.Compact(r.Issues)
	if r.Issues == nil {
		r.Issues = []Finding{}
	}
	for _, s := range Severities() {
		r.SeveritySummary[s] = 0
	}
	for _, f := range r.Issues {
		r.SeveritySummary[f.Severity]++
	}
	return r
}

// Sort orders findings by place, then rule and message.
func Sort(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Reviewer, b.Reviewer),
		)
	})
}
