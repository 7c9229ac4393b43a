package goreview

import (
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/suite/vet"

	"junction/examples/codereview/reviewer"
)

const filepathSeparator = filepath.Separator

// robust passes judge one expression or statement at a time, and stay silent
// about what has no type: they can run on a package that does not compile, or
// that misses a dependency.
var robust = []string{
	"appends", "assign", "atomic", "bools", "buildtag", "copylocks", "defers", "directive",
	"printf", "shift", "stringintconv", "structtag", "timeformat", "unreachable", "unusedresult",
}

// passesFor are those of go vet, in its order; deep adds nilness.
func passesFor(deep, partial bool) []*analysis.Analyzer {
	passes := slices.Clone(vet.Suite)
	if deep {
		passes = append(passes, nilness.Analyzer)
	}
	if partial {
		passes = slices.DeleteFunc(passes, func(a *analysis.Analyzer) bool { return !slices.Contains(robust, a.Name) })
	}
	return passes
}

// severity of what a pass reports: medium, since vet reports what is almost
// always wrong, except where the code merely says more than it needs to.
func severity(pass string) reviewer.Severity {
	switch pass {
	case "composites", "unreachable", "assign", "stdversion", "tests", "stdmethods", "hostport":
		return reviewer.Low
	}
	return reviewer.Medium
}

// pass gives an analyzer the package. Facts live as long as the package's
// analysis; none come from dependencies, whose bodies were not read.
func (d *driver) pass(a *analysis.Analyzer, found *[]analysis.Diagnostic) *analysis.Pass {
	required := make(map[*analysis.Analyzer]any, len(a.Requires))
	for _, r := range a.Requires {
		required[r] = d.results[r]
	}
	p := &analysis.Pass{
		Analyzer:   a,
		Fset:       d.world.fset,
		Files:      d.files,
		Pkg:        d.pkg,
		TypesInfo:  d.info,
		TypesSizes: d.world.sizes,
		ResultOf:   required,
		ReadFile:   os.ReadFile,
		Report:     func(diagnostic analysis.Diagnostic) { *found = append(*found, diagnostic) },
	}
	for _, name := range d.listed.IgnoredGoFiles {
		p.IgnoredFiles = append(p.IgnoredFiles, filepath.Join(d.listed.Dir, name))
	}
	if m := d.listed.Module; m != nil {
		p.Module = &analysis.Module{Path: m.Path, GoVersion: m.GoVersion}
	}
	d.facts.attach(p)
	return p
}

// facts are what analyzers remember about objects.
type facts struct {
	objects  map[types.Object][]analysis.Fact
	packages map[*types.Package][]analysis.Fact
}

func (f *facts) attach(p *analysis.Pass) {
	if f.objects == nil {
		f.objects = make(map[types.Object][]analysis.Fact)
		f.packages = make(map[*types.Package][]analysis.Fact)
	}
	p.ImportObjectFact = func(o types.Object, fact analysis.Fact) bool { return recall(f.objects[o], fact) }
	p.ImportPackageFact = func(pkg *types.Package, fact analysis.Fact) bool { return recall(f.packages[pkg], fact) }
	p.ExportObjectFact = func(o types.Object, fact analysis.Fact) { f.objects[o] = remember(f.objects[o], fact) }
	p.ExportPackageFact = func(fact analysis.Fact) { f.packages[p.Pkg] = remember(f.packages[p.Pkg], fact) }
	p.AllObjectFacts = func() []analysis.ObjectFact { return nil }
	p.AllPackageFacts = func() []analysis.PackageFact { return nil }
}

// recall copies the fact of the wanted type into it.
func recall(known []analysis.Fact, into analysis.Fact) bool {
	for _, k := range known {
		if reflect.TypeOf(k) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(k).Elem())
			return true
		}
	}
	return false
}

func remember(known []analysis.Fact, fact analysis.Fact) []analysis.Fact {
	for i, k := range known {
		if reflect.TypeOf(k) == reflect.TypeOf(fact) {
			known[i] = fact
			return known
		}
	}
	return append(known, fact)
}
