package goreview

import (
	"context"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/scratch"
)

// module is one Go module of a snapshot.
type module struct {
	world   *world
	trouble string // why the go command could not list it; "": it could
	results map[string]*analysed
	files   map[string][]*listed // packages a file is compiled in, by absolute path; plain ones first
	ignored map[string]bool      // files that build constraints leave out here
}

// load describes a module. When the go command cannot, its packages are put
// together from the files alone, and their imports of other packages of the
// module stay unknown.
func load(ctx context.Context, dir, root string) (*module, error) {
	at := filepath.Join(dir, filepath.FromSlash(root))
	m := &module{results: make(map[string]*analysed)}
	cmd, err := newGoCommand(ctx)
	var ps []*listed
	if err == nil {
		ps, err = cmd.list(ctx, at, "./...")
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		m.trouble = err.Error()
		if ps, err = loose(ctx, cmd, at); err != nil {
			return nil, err
		}
	}
	m.world = newWorld(dir, ps, func(p *listed) bool { return cmd == nil || cmd.within(dir, p.Dir) })
	m.index(ps, dir)
	return m, nil
}

func (m *module) index(ps []*listed, dir string) {
	m.files, m.ignored = make(map[string][]*listed), make(map[string]bool)
	for _, p := range ps {
		if rel, err := filepath.Rel(dir, p.Dir); err != nil || !filepath.IsLocal(rel) || p.Standard {
			continue
		}
		for _, f := range p.GoFiles {
			if !filepath.IsAbs(f) { // the main file of a test is generated elsewhere
				file := filepath.Join(p.Dir, f)
				m.files[file] = append(m.files[file], p)
			}
		}
		for _, f := range p.IgnoredGoFiles {
			m.ignored[filepath.Join(p.Dir, f)] = true
		}
	}
	for _, of := range m.files {
		slices.SortFunc(of, func(a, b *listed) int {
			if (a.ForTest == "") != (b.ForTest == "") {
				if a.ForTest == "" {
					return -1
				}
				return 1
			}
			return strings.Compare(a.ImportPath, b.ImportPath)
		})
	}
}

// findings returns those of one file, named from the snapshot's directory.
func (m *module) findings(ctx context.Context, name string, deep bool) ([]reviewer.Finding, error) {
	file := m.world.absolute(name)
	of := m.files[file]
	if len(of) == 0 {
		return []reviewer.Finding{m.unlisted(file)}, nil
	}
	p := of[0]
	a := m.results[p.ImportPath]
	if a == nil {
		var err error
		if a, err = m.world.analyse(ctx, p, deep); err != nil {
			return nil, err
		}
		m.results[p.ImportPath] = a
	}
	return a.of(file, m.trouble), nil
}

func (m *module) unlisted(file string) reviewer.Finding {
	why := "it belongs to no package of its module"
	if m.ignored[file] {
		why = "build constraints leave it out here"
	}
	return reviewer.Finding{
		Severity: reviewer.Info, Rule: "not-analysed", Message: "only its syntax was checked: " + why,
	}
}

// loose describes the packages of a tree that go list refuses.
func loose(ctx context.Context, cmd *goCommand, root string) ([]*listed, error) {
	packages := make(map[string]*listed)
	imports := make(map[string]bool)
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		dir := filepath.Dir(file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return nil //nolint:nilerr // a file that cannot be parsed is no part of a package; its own review says so
		}
		id := dir + " " + parsed.Name.Name
		p := packages[id]
		if p == nil {
			p = &listed{Dir: dir, ImportPath: id, Name: parsed.Name.Name}
			packages[id] = p
		}
		if ok, err := build.Default.MatchFile(dir, filepath.Base(file)); err != nil || !ok {
			p.IgnoredGoFiles = append(p.IgnoredGoFiles, filepath.Base(file))
			return err
		}
		p.GoFiles = append(p.GoFiles, filepath.Base(file))
		for _, i := range parsed.Imports {
			if name, err := strconv.Unquote(i.Path.Value); err == nil && standard(name) {
				imports[name] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	ps := make([]*listed, 0, len(packages))
	for _, p := range packages {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *listed) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if cmd == nil || len(imports) == 0 {
		return ps, nil
	}
	std, err := cmd.listStandard(ctx, imports)
	return append(ps, std...), err
}

// standard tells paths of the standard library: their first element has no dot.
func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return first != "C" && first != "" && !strings.Contains(first, ".") && path.Clean(name) == name
}

// listStandard describes packages of the standard library, from an empty
// directory.
func (g *goCommand) listStandard(ctx context.Context, imports map[string]bool) (_ []*listed, err error) {
	dir, err := scratch.Dir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := make([]string, 0, len(imports))
	for name := range imports {
		names = append(names, name)
	}
	slices.Sort(names)
	return g.list(ctx, dir, names...)
}
