package goreview

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// world type-checks packages from source. Dependencies are checked once and
// without the bodies of their functions. It is not safe for concurrent use.
type world struct {
	fset    *token.FileSet
	dir     string // of the snapshot
	listed  map[string]*listed
	allowed func(*listed) bool
	checked map[string]*dependency
	sizes   types.Sizes
}

type dependency struct {
	pkg *types.Package
	err error
}

var errOpen = errors.New("import cycle")

func newWorld(dir string, ps []*listed, allowed func(*listed) bool) *world {
	w := &world{
		dir:     dir,
		fset:    token.NewFileSet(),
		listed:  make(map[string]*listed, len(ps)),
		allowed: allowed,
		checked: make(map[string]*dependency),
		sizes:   types.SizesFor("gc", runtime.GOARCH),
	}
	for _, p := range ps {
		w.listed[p.ImportPath] = p
	}
	return w
}

func (w *world) absolute(name string) string {
	return filepath.Join(w.dir, filepath.FromSlash(name))
}

// importer resolves what one package imports.
type importer struct {
	ctx context.Context
	w   *world
	of  *listed
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if err := i.ctx.Err(); err != nil {
		return nil, err
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	return i.w.dependency(i.ctx, path)
}

// dependency returns a package whose functions have no bodies. Faults of its
// own do not matter: what could be checked is there.
func (w *world) dependency(ctx context.Context, id string) (*types.Package, error) {
	if d, ok := w.checked[id]; ok {
		return d.pkg, d.err
	}
	p := w.listed[id]
	switch {
	case p == nil || len(p.GoFiles) == 0:
		return nil, errors.New("not available offline")
	case !w.allowed(p):
		return nil, errors.New("outside of the repository")
	}
	d := &dependency{err: errOpen}
	w.checked[id] = d
	files, err := w.parse(p, false)
	if err != nil {
		d.err = err
		return nil, err
	}
	conf := w.config(ctx, p, func(error) {})
	conf.IgnoreFuncBodies = true
	pkg, err := conf.Check(importPath(p), w.fset, files, nil)
	if cerr := ctx.Err(); cerr != nil {
		delete(w.checked, id) // half checked: the next call begins anew
		return nil, errors.Join(cerr, err)
	}
	d.pkg, d.err = pkg, nil
	return pkg, nil
}

func (w *world) config(ctx context.Context, p *listed, report func(error)) *types.Config {
	conf := &types.Config{
		Importer:    importer{ctx, w, p},
		FakeImportC: true,
		Error:       report,
		Sizes:       w.sizes,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		v := "go" + p.Module.GoVersion
		if version.Compare(v, runtimeVersion) > 0 {
			v = "go" + language(runtimeVersion)
		}
		conf.GoVersion = v
	}
	return conf
}

// importPath is a package's path without the test it is compiled for.
func importPath(p *listed) string {
	for i, r := range p.ImportPath {
		if r == ' ' && p.ForTest != "" {
			return p.ImportPath[:i]
		}
	}
	return p.ImportPath
}

// parse reads a package's files, in the order of their names. Without bodies,
// functions lose theirs at once, so that they do not fill the memory.
func (w *world) parse(p *listed, bodies bool) ([]*ast.File, error) {
	files := make([]*ast.File, len(p.GoFiles))
	mode := parser.SkipObjectResolution
	if bodies {
		mode |= parser.ParseComments
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		g.Go(func() error {
			source, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(w.fset, name, source, mode)
			if f == nil {
				return fmt.Errorf("parse: %w", err)
			}
			if !bodies {
				strip(f)
			}
			files[i] = f // a file with faults of syntax still gives its other declarations
			return nil
		})
	}
	return files, g.Wait()
}

func strip(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}
