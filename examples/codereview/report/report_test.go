package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/examples/codereview/report"
	"junction/examples/codereview/reviewer"
)

func TestAReportNamesEachFindingWithItsPlace(t *testing.T) {
	in := report.Input{
		Repo: "/src/app", Revision: "0123456789abcdef", Base: "fedcba9876543210",
		Findings: []reviewer.Finding{
			{Path: "b.go", Line: 7, Column: 2, Severity: reviewer.Medium, Rule: "printf", Message: "format %s has arg of wrong type *T", Reviewer: "go"},
			{Path: "a.env", Line: 3, Severity: reviewer.High, Rule: "aws-access-key", Message: "an AWS access key id", Reviewer: "secrets"},
			{Path: "a.go", Severity: reviewer.Info, Rule: "not-analysed", Message: "only\nits <b>syntax", Reviewer: "go"},
		},
		Files: []report.File{
			{Path: "a.go", Language: "go", Reviewable: true},
			{Path: "b.go", Language: "go", Reviewable: true},
			{Path: "a.env", Language: "text", Reason: "no reviewer for text"},
		},
		Skipped: []report.Skipped{{Path: "c\nd.png", Reason: "binary"}},
	}
	want := "# Code review of `/src/app`\n\n" +
		"Commit `0123456789ab` against its parent `fedcba987654`: 3 files read, 1 file skipped.\n\n" +
		"**3 findings**: 1 high, 1 medium, 1 info.\n" +
		"\n## High\n\n- `a.env:3` an AWS access key id (secrets, aws-access-key)\n" +
		"\n## Medium\n\n- `b.go:7:2` format %s has arg of wrong type *T (go, printf)\n" +
		"\n## Info\n\n- `a.go` only its \\<b>syntax (go, not-analysed)\n" +
		"\n## Reviewers\n\n- go: 2 files\n- secrets: 3 files\n" +
		"\n## Searched for secrets only\n\n- no reviewer for text: `a.env`\n" +
		"\n## Skipped\n\n- binary: `\"c\\nd.png\"`\n"
	got := report.Render(in)
	if diff := cmp.Diff(want, got.Markdown); diff != "" {
		t.Error(diff)
	}
	if got.SeveritySummary[reviewer.High] != 1 || got.SeveritySummary[reviewer.Low] != 0 {
		t.Errorf("summary %v", got.SeveritySummary)
	}

	in.Findings[0], in.Findings[2] = in.Findings[2], in.Findings[0]
	in.Files[0], in.Files[2] = in.Files[2], in.Files[0]
	if again := report.Render(in); again.Markdown != got.Markdown {
		t.Errorf("another order of the same findings gives another report:\n%s", cmp.Diff(got.Markdown, again.Markdown))
	}
}

func TestACleanReviewSaysSo(t *testing.T) {
	got := report.Render(report.Input{Repo: ".", Revision: "abc"}).Markdown
	if !strings.Contains(got, "the whole tree") || !strings.Contains(got, "Nothing was found.") {
		t.Error(got)
	}
}

func TestALongListIsCut(t *testing.T) {
	in := report.Input{}
	for i := range 30 {
		in.Skipped = append(in.Skipped, report.Skipped{Path: string(rune('A' + i)), Reason: "deleted"})
	}
	if got := report.Render(in).Markdown; !strings.Contains(got, " and 10 more\n") {
		t.Error(got)
	}
}
