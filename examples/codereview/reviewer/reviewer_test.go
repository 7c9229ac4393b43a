package reviewer_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/examples/codereview/reviewer"
)

func TestAReviewIsSortedCountedAndNeverNull(t *testing.T) {
	got := reviewer.Conclude("go", []reviewer.Finding{
		{Path: "b", Line: 2, Severity: reviewer.Low, Rule: "r"},
		{Path: "b", Line: 1, Column: 3, Severity: reviewer.High, Rule: "r"},
		{Path: "b", Line: 2, Severity: reviewer.Low, Rule: "r"},
		{Path: "a", Line: 9, Severity: reviewer.High, Rule: "r"},
	})
	want := reviewer.Review{
		Issues: []reviewer.Finding{
			{Path: "a", Line: 9, Severity: reviewer.High, Rule: "r", Reviewer: "go"},
			{Path: "b", Line: 1, Column: 3, Severity: reviewer.High, Rule: "r", Reviewer: "go"},
			{Path: "b", Line: 2, Severity: reviewer.Low, Rule: "r", Reviewer: "go"},
		},
		SeveritySummary: map[reviewer.Severity]int{reviewer.High: 2, reviewer.Medium: 0, reviewer.Low: 1, reviewer.Info: 0},
		Suggestions:     []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(reviewer.Conclude("go", nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"issues":[],"severity_summary":{"high":0,"info":0,"low":0,"medium":0},"suggestions":[]}`; string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
}

func TestAFaultAtTheEndOfTheFileStandsOnItsLastLine(t *testing.T) {
	tests := []struct {
		name, code           string
		line, column         int
		wantLine, wantColumn int
	}{
		{"inside", "ab\ncd\n", 2, 1, 2, 1},
		{"past the end", "ab\ncd\n", 3, 1, 2, 3},
		{"past blank lines", "ab\r\n\r\n\r\n", 4, 1, 1, 3},
		{"no code", "", 1, 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := reviewer.Within(tt.code, []reviewer.Finding{{Line: tt.line, Column: tt.column}})[0]
			if got.Line != tt.wantLine || got.Column != tt.wantColumn {
				t.Errorf("%d:%d, want %d:%d", got.Line, got.Column, tt.wantLine, tt.wantColumn)
			}
		})
	}
}

func TestLanguagesAreToldByName(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.go": reviewer.Go, "x.MJS": reviewer.JavaScript, "x.d.ts": reviewer.TypeScript, "x.tsx": reviewer.TypeScript,
		"s.pyi": reviewer.Python, "l.rs": reviewer.Rust, "Dockerfile": "dockerfile", "Makefile": "make", "LICENSE": reviewer.Text, ".go": reviewer.Go,
	} {
		if got := reviewer.Language(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
