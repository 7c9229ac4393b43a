package pyreview_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/examples/codereview/pyreview"
	"junction/examples/codereview/reviewer"
)

func TestFindingsHaveTheirPlaceAndSeverity(t *testing.T) {
	tests := []struct {
		name, code string
		want       []string
	}{
		{"sound", "x = 1\n", nil},
		{"syntax", "x = 1\ndef f(:\n    pass\n", []string{"2:6 high syntax"}},
		{"habits", "def f(a=[]):\n    try:\n        return a == None\n    except:\n        return f'a'\n", []string{
			"1:9 medium mutable-default", "3:18 low compare-none", "4:5 low bare-except", "5:16 low f-string-without-placeholder",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := pyreview.New().Review(t.Context(), reviewer.Request{Code: tt.code, Context: reviewer.Context{Path: "a.py"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range r.Issues {
				got = append(got, fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Severity, f.Rule))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
