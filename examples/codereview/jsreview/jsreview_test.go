package jsreview_test

import (
	"testing"

	"junction/examples/codereview/jsreview"
	"junction/examples/codereview/reviewer"
)

func TestFaultsAreFoundAtTheirPlace(t *testing.T) {
	tests := []struct {
		name, path, code string
		line, column     int
		severity         reviewer.Severity
		rule             string
	}{
		{"missing bracket", "a.js", "const a = 1;\nfunction f( {\n  return a;\n}\n", 3, 10, reviewer.High, "syntax"},
		{"unfinished expression", "a.mjs", "let x =\n", 1, 8, reviewer.High, "syntax"},
		{"types in JavaScript", "a.cjs", "let x: number = 1;\n", 1, 6, reviewer.High, "syntax"},
		{"broken TypeScript", "a.ts", "interface A {\n  b: ;\n}\n", 2, 6, reviewer.High, "syntax"},
		{"unclosed element", "a.tsx", "const a = <b>x;\n", 1, 16, reviewer.High, "syntax"},
		{"comparison with negative zero", "a.js", "if (x === -0) f();\n", 1, 11, reviewer.Medium, "equals-negative-zero"},
		{"key given twice", "a.js", "f({a: 1, a: 2});\n", 1, 10, reviewer.Medium, "duplicate-object-key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := jsreview.New().Review(t.Context(), reviewer.Request{
				Code: tt.code, Language: reviewer.Language(tt.path), Context: reviewer.Context{Path: tt.path},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Issues) == 0 {
				t.Fatal("no finding")
			}
			f := r.Issues[0]
			if f.Line != tt.line || f.Column != tt.column || f.Severity != tt.severity || f.Rule != tt.rule || f.Path != tt.path {
				t.Errorf("finding %+v", f)
			}
		})
	}
}

func TestFlowIsSaidNotToBeReviewed(t *testing.T) {
	r, err := jsreview.New().Review(t.Context(), reviewer.Request{Code: "// @flow\nlet x: ?number = 1;\n", Context: reviewer.Context{Path: "a.js"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Issues) != 1 || r.Issues[0].Severity != reviewer.Info {
		t.Errorf("issues %+v", r.Issues)
	}
}

func TestSoundCodeHasNoFindings(t *testing.T) {
	tests := []struct{ name, path, code string }{
		{"module", "a.mjs", "import x from './x.js';\nexport const y = await x?.();\n"},
		{"script", "a.cjs", "#!/usr/bin/env node\nmodule.exports = async () => { for await (const a of b) yield_(a) };\n"},
		{"JSX in .js", "a.js", "export const A = () => <div {...p}>{x}</div>;\n"},
		{"classes", "a.js", "class A { #p = 1; static { f() } accessor = 2 }\n"},
		{"types", "a.ts", "const a = <T,>(x: T): x is T & {} => true satisfies boolean;\nenum E { A }\nabstract class B<in out T> { declare x: T }\n"},
		{"angle cast", "a.ts", "const a = <number>b;\n"},
		{"decorators", "a.ts", "@d class A { @d() m(@p x: string) {} }\n"},
		{"tsx", "a.tsx", "export const A = <T,>(p: P<T>) => <B<T> {...p}/>;\n"},
		{"no path", "", "let x: number = 1;\n"},
		{"empty", "a.js", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := jsreview.New().Review(t.Context(), reviewer.Request{
				Code: tt.code, Language: reviewer.TypeScript, Context: reviewer.Context{Path: tt.path},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Issues) != 0 {
				t.Errorf("issues %+v", r.Issues)
			}
		})
	}
}
