package review_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"junction/router/review"
)

// faultRows is how many rows the failure table has.
const faultRows = 14

func TestEveryFaultHasAFixtureThatExists(t *testing.T) {
	if len(review.Faults) != faultRows {
		t.Errorf("the table has %d rows, want %d", len(review.Faults), faultRows)
	}
	names, fixtures := map[string]bool{}, map[string]bool{}
	for _, f := range review.Faults {
		if f.Name == "" || f.Symptom == "" || f.Response == "" || names[f.Name] {
			t.Errorf("a row is not whole, or stands twice: %+v", f)
		}
		names[f.Name] = true
		if fixtures[f.Fixture] {
			t.Errorf("%s: its fixture %s is another row's too", f.Name, f.Fixture)
		}
		fixtures[f.Fixture] = true
		dir, test, ok := strings.Cut(path.Base(f.Fixture), ".")
		if !ok {
			t.Errorf("%s has no fixture: %q", f.Name, f.Fixture)
			continue
		}
		if dir = path.Join(path.Dir(f.Fixture), dir); !hasTest(t, filepath.Join("..", "..", filepath.FromSlash(dir)), test) {
			t.Errorf("%s: there is no test %s in %s", f.Name, test, dir)
		}
	}
}

// hasTest looks for a test in the sources of a package.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
