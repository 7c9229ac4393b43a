package expr_test

import (
	"errors"
	"testing"

	"junction/state/expr"
	"junction/state/value"
)

func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"${count(findings, .severity == \"high\") > 0}", "a ${n} $${x} ${map[repo]}", "${let x = 1; x}", "${files?.[0].path ?? 'x'}",
		"${reduce(nums, #acc + #, 0)}", "${if yes {1} else {2}}", "${sortBy(files, .path, 'desc')}", "${'", "${{a: [1..3]}}", "${text[1:3] matches repo}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := expr.Compile(text, names()...)
		if err != nil {
			var es expr.Errors
			if !errors.As(err, &es) || len(es) == 0 {
				t.Fatalf("Compile(%q): error of type %T", text, err)
			}
			for _, e := range es {
				if e.Offset < 0 || e.Offset > len(text) {
					t.Fatalf("Compile(%q): offset %d", text, e.Offset)
				}
			}
			return
		}
		tpl.Check(map[string]string{"n": "number", "files": "array"})
		v, err := tpl.Eval(t.Context(), vars)
		if err != nil {
			return
		}
		n, err := value.Normalize(v)
		if err != nil {
			return // text made of bytes that are not UTF-8 to begin with
		}
		if !value.Equal(v, n) {
			t.Fatalf("%q gives %#v, which is not canonical", text, v)
		}
	})
}
