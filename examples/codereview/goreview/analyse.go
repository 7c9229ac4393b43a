package goreview

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"junction/examples/codereview/reviewer"
)

// analysed is what was found in a package, by absolute path of the file.
type analysed struct {
	found   map[string][]reviewer.Finding
	missing map[string][]string // imports of a file that are not available here
	partial bool                // something is missing or wrong: only the passes that bear it ran
}

// of returns the findings of one file, and one that says what could not be
// looked at. trouble is why the module could not be listed.
func (a *analysed) of(file, trouble string) []reviewer.Finding {
	found := slices.Clone(a.found[file])
	missing := a.missing[file]
	if len(missing) == 0 {
		return found
	}
	message := "analysed in part: these imports are not available offline: " + strings.Join(missing, ", ")
	if trouble != "" {
		message += " (" + trouble + ")"
	}
	return append(found, reviewer.Finding{Severity: reviewer.Info, Rule: "incomplete", Message: message})
}

// maxTypeErrors bounds the errors reported of one file.
const maxTypeErrors = 10

// analyse checks a package with its bodies and runs the passes on it.
func (w *world) analyse(ctx context.Context, p *listed, deep bool) (*analysed, error) {
	a := &analysed{found: make(map[string][]reviewer.Finding), missing: make(map[string][]string)}
	files, err := w.parse(p, true)
	if err != nil {
		return nil, err
	}
	var faults []types.Error
	conf := w.config(ctx, p, func(err error) {
		if e := (types.Error{}); errors.As(err, &e) {
			faults = append(faults, e)
		}
	})
	info := newInfo()
	pkg, _ := conf.Check(importPath(p), w.fset, files, info) // its error is the first of faults
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	faults = w.separate(a, files, faults)
	a.partial = len(faults) > 0 || len(a.missing) > 0
	w.typeErrors(a, faults)

	if a.partial {
		fillTypes(files, info)
	}
	passes := passesFor(deep, a.partial)
	d := &driver{world: w, listed: p, pkg: pkg, files: files, info: info, results: make(map[*analysis.Analyzer]any)}
	for _, pass := range passes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, diagnostic := range d.run(pass) {
			w.add(a, diagnostic.Pos, severity(pass.Name), pass.Name, diagnostic.Message)
		}
	}
	return a, nil
}

func newInfo() *types.Info {
	return &types.Info{
		Types:        make(map[ast.Expr]types.TypeAndValue),
		Instances:    make(map[*ast.Ident]types.Instance),
		Defs:         make(map[*ast.Ident]types.Object),
		Uses:         make(map[*ast.Ident]types.Object),
		Implicits:    make(map[ast.Node]types.Object),
		Selections:   make(map[*ast.SelectorExpr]*types.Selection),
		Scopes:       make(map[ast.Node]*types.Scope),
		FileVersions: make(map[*ast.File]string),
	}
}

// fillTypes gives the invalid type to expressions that have none, because what
// they are made of is missing or wrong: passes take it for "unknown", but stop
// at an expression without any.
func fillTypes(files []*ast.File, info *types.Info) {
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if _, typed := info.Types[e]; !typed {
				if id, ok := e.(*ast.Ident); ok && info.ObjectOf(id) != nil {
					return true // the object says more
				}
				info.Types[e] = types.TypeAndValue{Type: types.Typ[types.Invalid]}
			}
			return true
		})
	}
}

// separate takes the failed imports out of a package's faults: that a
// dependency is not here is no fault of the code.
func (w *world) separate(a *analysed, files []*ast.File, faults []types.Error) []types.Error {
	imports := make(map[token.Pos]string)
	for _, f := range files {
		for _, i := range f.Imports {
			imports[i.Path.Pos()] = strings.Trim(i.Path.Value, "`\"")
		}
	}
	var own []types.Error
	for _, e := range faults {
		if name, ok := imports[e.Pos]; ok && strings.HasPrefix(e.Msg, "could not import") {
			at := w.fset.PositionFor(e.Pos, false)
			a.missing[at.Filename] = append(a.missing[at.Filename], name)
			continue
		}
		own = append(own, e)
	}
	return own
}

// typeErrors reports what the compiler would. While imports are missing it is
// no more than likely, since their types are not known.
func (w *world) typeErrors(a *analysed, faults []types.Error) {
	level := reviewer.High
	if len(a.missing) > 0 {
		level = reviewer.Low
	}
	counts := make(map[string]int)
	for _, e := range faults {
		if strings.HasPrefix(e.Msg, "\t") {
			continue // continues the message before it
		}
		at := w.fset.PositionFor(e.Pos, false)
		counts[at.Filename]++
		switch n := counts[at.Filename]; {
		case n <= maxTypeErrors:
			w.add(a, e.Pos, level, "compile", e.Msg)
		case n == maxTypeErrors+1:
			w.add(a, e.Pos, reviewer.Info, "compile", "more errors follow")
		}
	}
}

func (w *world) add(a *analysed, pos token.Pos, s reviewer.Severity, rule, message string) {
	at := w.fset.PositionFor(pos, false)
	a.found[at.Filename] = append(a.found[at.Filename], reviewer.Finding{
		Line: at.Line, Column: at.Column, Severity: s, Rule: rule, Message: w.scrub(message),
	})
}

// scrub keeps the temporary directory out of messages, which would otherwise
// differ from run to run.
func (w *world) scrub(message string) string {
	return strings.ReplaceAll(message, w.dir+string(filepathSeparator), "")
}

// driver runs passes, and what they require, on one package.
type driver struct {
	world   *world
	listed  *listed
	pkg     *types.Package
	files   []*ast.File
	info    *types.Info
	results map[*analysis.Analyzer]any
	failed  map[*analysis.Analyzer]bool
	facts   facts
}

// run returns the diagnostics of a pass. A pass that fails on this package,
// because something in it is missing, gives none.
func (d *driver) run(a *analysis.Analyzer) []analysis.Diagnostic {
	var found []analysis.Diagnostic
	for _, r := range a.Requires {
		if _, done := d.results[r]; !done && !d.failed[r] {
			d.run(r) // diagnostics of a prerequisite are not asked for
		}
		if d.failed[r] {
			d.fail(a)
			return nil
		}
	}
	result, err := d.call(a, &found)
	if err != nil {
		d.fail(a)
		return nil
	}
	d.results[a] = result
	return found
}

func (d *driver) fail(a *analysis.Analyzer) {
	if d.failed == nil {
		d.failed = make(map[*analysis.Analyzer]bool)
	}
	d.failed[a] = true
}

// call turns a panic of a pass, which foreign code may provoke, into an error.
func (d *driver) call(a *analysis.Analyzer, found *[]analysis.Diagnostic) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pass %s: %v", a.Name, r)
		}
	}()
	return a.Run(d.pass(a, found))
}
