package goreview_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/examples/codereview/goreview"
	"junction/examples/codereview/repo/repotest"
	"junction/examples/codereview/reviewer"
)

// tree is the files of a repository with one commit.
type tree map[string]string

func commit(t *testing.T, files tree) *repotest.Repo {
	t.Helper()
	r := repotest.New(t)
	for name, content := range files {
		r.Write(name, content)
	}
	r.Commit()
	return r
}

func newReviewer(t *testing.T, depth reviewer.Depth) *goreview.Reviewer {
	t.Helper()
	v := goreview.New(&goreview.Options{Depth: depth})
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func review(t *testing.T, v *goreview.Reviewer, r *repotest.Repo, name string) []reviewer.Finding {
	t.Helper()
	code, err := os.ReadFile(filepath.Join(r.Dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Review(t.Context(), reviewer.Request{
		Code: string(code), Language: reviewer.Go,
		Context: reviewer.Context{Repo: r.Dir, Path: name, Revision: "HEAD"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return got.Issues
}

// brief is "LINE:COLUMN SEVERITY RULE MESSAGE" of each finding.
func brief(fs []reviewer.Finding) []string {
	var lines []string
	for _, f := range fs {
		lines = append(lines, fmt.Sprintf("%d:%d %s %s %s", f.Line, f.Column, f.Severity, f.Rule, f.Message))
	}
	return lines
}

func expect(t *testing.T, got []reviewer.Finding, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(got)); diff != "" {
		t.Error(diff)
	}
}

const mod = "module example.org/m\n\ngo 1.24\n"

func TestAFileIsReviewedWithTheRestOfItsPackage(t *testing.T) {
	r := commit(t, tree{
		"go.mod":       mod,
		"pkg/count.go": "package pkg\n\n// Count counts.\nfunc Count() int { return 1 }\n",
		"pkg/print.go": "package pkg\n\nimport \"fmt\"\n\nfunc Print() {\n\tfmt.Printf(\"%s\\n\", Count())\n\tfmt.Sprintf(\"%d\", Count())\n}\n",
		"main.go":      "package main\n\nimport \"example.org/m/pkg\"\n\nfunc main() { pkg.Print(); _ = pkg.Count() }\n",
	})
	for _, depth := range []reviewer.Depth{reviewer.Shallow, reviewer.Deep} {
		v := newReviewer(t, depth)
		expect(t, review(t, v, r, "pkg/print.go"),
			"6:14 medium printf fmt.Printf format %s has arg Count() of wrong type int",
			"7:2 medium unusedresult result of fmt.Sprintf call not used",
		)
		expect(t, review(t, v, r, "pkg/count.go"))
		expect(t, review(t, v, r, "main.go"))
	}
}

func TestEveryVetPassRuns(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"copylocks", "type T struct{ mu sync.Mutex }\nfunc F(t T) {}", "5:10 medium copylocks F passes lock by value: example.org/m.T contains sync.Mutex"},
		{"lostcancel", "func F(c context.Context) context.Context {\n\tc, _ = context.WithCancel(c)\n\treturn c\n}", "5:5 medium lostcancel the cancel function returned by context.WithCancel should be called, not discarded, to avoid a context leak"},
		{"unreachable", "func F() int {\n\treturn 1\n\tpanic(0)\n}", "6:2 low unreachable unreachable code"},
		{"stringintconv", "func F(i int) string { return string(i) }", "4:31 medium stringintconv conversion from int to string yields a string of one rune, not a string of digits"},
		{"structtag", "type T struct {\n\tA int `json:a`\n}", "5:2 medium structtag struct field tag `json:a` not compatible with reflect.StructTag.Get: bad syntax for struct tag value"},
		{"printf wrapper", "func logf(f string, a ...any) { fmt.Printf(f, a...) }\nfunc F() { logf(\"%d\", \"a\") }", "5:18 medium printf example.org/m.logf format %d has arg \"a\" of wrong type string"},
		{"log", "func F() { log.Printf(\"%d\", \"a\") }", "4:24 medium printf log.Printf format %d has arg \"a\" of wrong type string"},
		{"slog", "func F() { slog.Info(\"a\", \"k\") }", "4:12 medium slog call to slog.Info missing a final value"},
		{"unmarshal", "func F(b []byte, v map[string]int) { json.Unmarshal(b, v) }", "4:52 medium unmarshal call of Unmarshal passes non-pointer as second argument"},
		{"errorsas", "func F(err error) { var e *net.OpError; errors.As(err, e) }", "4:41 medium errorsas second argument to errors.As must be a non-nil pointer to either a type that implements error, or to any interface type"},
	}
	imports := map[string]string{
		"copylocks": "sync", "lostcancel": "context", "printf wrapper": "fmt", "log": "log",
		"slog": "log/slog", "unmarshal": "encoding/json",
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head := "package m; \n\n\n"
			switch {
			case tt.name == "errorsas":
				head = "package m\nimport \"errors\"\nimport \"net\"\n"
			case imports[tt.name] != "":
				head = "package m\n\nimport \"" + imports[tt.name] + "\"\n"
			}
			r := commit(t, tree{"go.mod": mod, "a.go": head + tt.body + "\n"})
			expect(t, review(t, newReviewer(t, reviewer.Shallow), r, "a.go"), tt.want)
		})
	}
}

func TestOnlyADeepReviewFindsNilDereferences(t *testing.T) {
	r := commit(t, tree{"go.mod": mod, "a.go": "package m\n\nfunc F(p *int) int {\n\tif p == nil {\n\t\treturn *p\n\t}\n\treturn 0\n}\n"})
	expect(t, review(t, newReviewer(t, reviewer.Shallow), r, "a.go"))
	expect(t, review(t, newReviewer(t, reviewer.Deep), r, "a.go"), "5:10 medium nilness nil dereference in load")
}

func TestTestsAreReviewedInTheirOwnVariantOfThePackage(t *testing.T) {
	r := commit(t, tree{
		"go.mod":           mod,
		"a/a.go":           "package a\n\ntype T struct{}\n",
		"a/export_test.go": "package a\n\nfunc (T) Hidden() int { return 1 }\n",
		"a/a_test.go":      "package a_test\n\nimport (\n\t\"testing\"\n\n\t\"example.org/m/a\"\n\t\"example.org/m/b\"\n)\n\nfunc TestA(t *testing.T) {\n\tvar x a.T = b.New()\n\tt.Errorf(\"%s\", x.Hidden())\n}\n",
		"b/b.go":           "package b\n\nimport \"example.org/m/a\"\n\nfunc New() a.T { return a.T{} }\n",
	})
	v := newReviewer(t, reviewer.Deep)
	expect(t, review(t, v, r, "a/a_test.go"),
		"12:12 medium printf (*testing.common).Errorf format %s has arg x.Hidden() of wrong type int")
	expect(t, review(t, v, r, "a/export_test.go"))
	expect(t, review(t, v, r, "a/a.go"))
}

func TestErrorsOfTheCompilerBelongToTheirFile(t *testing.T) {
	r := commit(t, tree{
		"go.mod":    mod,
		"sound.go":  "package m\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\", \"a\") }\n",
		"wrong.go":  "package m\n\nvar x int = \"a\"\n",
		"broken.go": "package m\n\nfunc {\n",
	})
	v := newReviewer(t, reviewer.Deep)
	expect(t, review(t, v, r, "sound.go"), "5:24 medium printf fmt.Printf format %d has arg \"a\" of wrong type string")
	expect(t, review(t, v, r, "wrong.go"), "3:13 high compile cannot use \"a\" (untyped string constant) as int value in variable declaration")
	expect(t, review(t, v, r, "broken.go"), "3:6 high syntax expected 'IDENT', found '{'")
}

func TestAMissingDependencyIsSaidOnceAndTheRestIsReviewed(t *testing.T) {
	r := commit(t, tree{
		"go.mod": mod + "\nrequire example.com/absent v1.2.3\n",
		"a.go": "package m\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/absent\"\n)\n\n" +
			"func F() error {\n\tx, err := absent.Do(absent.Options{A: 1})\n\t_ = x.Name()\n\tfmt.Printf(\"%d\", \"a\")\n\tfor range x.List {\n\t}\n\treturn err\n}\n",
	})
	got := review(t, newReviewer(t, reviewer.Deep), r, "a.go")
	expect(t, got,
		"0:0 info incomplete analysed in part: these imports are not available offline: example.com/absent",
		"12:14 medium printf fmt.Printf format %d has arg \"a\" of wrong type string")
}

func TestATreeThatTheGoCommandRefusesIsReviewedAllTheSame(t *testing.T) {
	file := "package m\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\", \"a\") }\n"
	want := "5:24 medium printf fmt.Printf format %d has arg \"a\" of wrong type string"
	tests := []struct {
		name  string
		files tree
	}{
		{"no go.mod", tree{"a.go": file}},
		{"newer Go and toolchain", tree{"go.mod": "module m\n\ngo 1.999.0\n\ntoolchain go1.999.1\n", "a.go": file}},
		{"broken go.mod", tree{"go.mod": "module\nnonsense here\n", "a.go": file}},
		{"two packages in a directory", tree{"go.mod": mod, "a.go": file, "b.go": "package other\n"}},
		{"missing embedded file", tree{"go.mod": mod, "a.go": file, "e.go": "package m\n\nimport _ \"embed\"\n\n//go:embed absent.txt\nvar s string\n"}},
		{"module in a directory", tree{"sub/go.mod": mod, "README.md": "x", "a.go": file}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, review(t, newReviewer(t, reviewer.Deep), commit(t, tt.files), "a.go"), want)
		})
	}
}

func TestWithoutTheGoCommandWhatNeedsNoTypesIsReviewed(t *testing.T) {
	r := commit(t, tree{"go.mod": mod, "a.go": "package m\n\nimport \"os\"\n\nfunc F(b bool) bool {\n\tos.Exit(1)\n\treturn b || b\n}\n"})
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(git, filepath.Join(only, filepath.Base(git))); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	t.Setenv("PATH", only)
	expect(t, review(t, newReviewer(t, reviewer.Deep), r, "a.go"),
		"0:0 info incomplete analysed in part: these imports are not available offline: os "+
			"(run the go command: exec: \"go\": executable file not found in $PATH)",
		"7:9 medium bools redundant or: b || b")
}

func TestAFileThatIsNotCompiledHereHasItsSyntaxChecked(t *testing.T) {
	r := commit(t, tree{
		"go.mod":   mod,
		"a.go":     "package m\n",
		"tag.go":   "//go:build never\n\npackage m\n\nimport \"fmt\"\n\nfunc F() { fmt.Printf(\"%d\", \"a\") }\n",
		"_hid.go":  "package m\n",
		"plan9.go": "//go:build plan9\n\npackage m\n\nfunc {\n",
	})
	v := newReviewer(t, reviewer.Deep)
	expect(t, review(t, v, r, "tag.go"), "0:0 info not-analysed only its syntax was checked: build constraints leave it out here")
	expect(t, review(t, v, r, "plan9.go"), "5:6 high syntax expected 'IDENT', found '{'")
}

func TestCodeWithoutARepositoryIsReviewedAlone(t *testing.T) {
	v := newReviewer(t, reviewer.Shallow)
	got, err := v.Review(t.Context(), reviewer.Request{Code: "package m\n\nimport \"fmt\"\n\nfunc F() { fmt.Sprint(1) }\n"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got.Issues, "5:12 medium unusedresult result of fmt.Sprint call not used")
	if got.Issues[0].Path != "code.go" && got.Issues[0].Path != "code." {
		t.Errorf("path %q", got.Issues[0].Path)
	}
}

func TestSourcesThatWereTakenAwayAreCopiedAgain(t *testing.T) {
	temp := t.TempDir()
	r := commit(t, tree{"go.mod": mod, "a.go": "package m\n\nvar a int = b\n", "b.go": "package m\n\nconst b = \"\"\n"})
	t.Setenv("TMPDIR", temp)
	v := newReviewer(t, reviewer.Shallow)
	want := review(t, v, r, "a.go")
	made, err := filepath.Glob(filepath.Join(temp, "junction-*"))
	if err != nil || len(made) != 1 || len(want) != 1 {
		t.Fatalf("directories %v, %v, findings %v; want one of each", made, err, want)
	}
	if err := os.RemoveAll(made[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, review(t, v, r, "a.go")); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsLeftOnDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := commit(t, tree{"go.mod": mod, "a.go": "package m\n"})
	v := goreview.New(nil)
	review(t, v, r, "a.go")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "junction-") {
			t.Errorf("%s is left", e.Name())
		}
	}
}
