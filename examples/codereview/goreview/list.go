package goreview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// runtimeVersion is that of the type checker in this binary.
var runtimeVersion = runtime.Version()

// listed is a package as the go command describes it.
type listed struct {
	Dir            string
	ImportPath     string // with the test it is compiled for in brackets
	Name           string
	ForTest        string
	Standard       bool
	GoFiles        []string
	IgnoredGoFiles []string
	ImportMap      map[string]string
	Module         *struct{ Path, GoVersion string }
	Error          *struct{ Err string }
}

const listFields = "-json=Dir,ImportPath,Name,ForTest,Standard,GoFiles,IgnoredGoFiles,ImportMap,Module,Error"

// goCommand runs the local go command so that it neither downloads, nor runs,
// nor obeys anything but what it is told here.
type goCommand struct {
	env     []string
	trusted []string // directories whose sources may be read besides the snapshot's
}

// newGoCommand asks where the user's module cache is, outside of the reviewed
// tree.
func newGoCommand(ctx context.Context) (*goCommand, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT")
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("run the go command: %w", err)
	}
	var where struct{ GOCACHE, GOMODCACHE, GOPATH, GOROOT string }
	if err := json.Unmarshal(out, &where); err != nil {
		return nil, fmt.Errorf("read the go command's environment: %w", err)
	}
	g := &goCommand{trusted: []string{where.GOMODCACHE, where.GOROOT}}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "LOCALAPPDATA"} {
		if value, ok := os.LookupEnv(name); ok {
			g.env = append(g.env, name+"="+value)
		}
	}
	g.env = append(g.env,
		"GOCACHE="+where.GOCACHE, "GOMODCACHE="+where.GOMODCACHE, "GOPATH="+where.GOPATH,
		"GOENV=off", "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off",
		"GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0")
	return g, nil
}

// list describes the packages of a directory's module, their tests and all
// that they import.
func (g *goCommand) list(ctx context.Context, dir string, patterns ...string) ([]*listed, error) {
	args := append([]string{"list", "-e", "-deps", "-test", "-buildvcs=false", listFields, "--"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, g.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.New(firstLine(stderr.String(), err))
	}
	var ps []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		ps = append(ps, &p)
	}
}

// within tells whether a package's sources may be read: those of the snapshot,
// of the module cache and of Go itself, but not those a replace directive
// points to elsewhere on this machine.
func (g *goCommand) within(snapshot, dir string) bool {
	for _, root := range append([]string{snapshot}, g.trusted...) {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

var (
	toolchainLine = regexp.MustCompile(`(?m)^\s*toolchain\s.*$`)
	goLine        = regexp.MustCompile(`(?m)^\s*go\s+([0-9][^\s/]*)`)
)

// localVersion rewrites a go.mod that asks for a newer Go than this one, which
// the go command would refuse rather than list.
func localVersion(mod []byte) []byte {
	mod = toolchainLine.ReplaceAll(mod, nil)
	return goLine.ReplaceAllFunc(mod, func(line []byte) []byte {
		asked := "go" + string(goLine.FindSubmatch(line)[1])
		if version.Compare(asked, runtimeVersion) <= 0 {
			return line
		}
		return []byte("go " + language(runtimeVersion))
	})
}

// language is "1.26" of "go1.26.8".
func language(v string) string {
	if l := version.Lang(v); l != "" {
		return strings.TrimPrefix(l, "go")
	}
	return "1.26" // a development build names no version
}

func firstLine(s string, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" {
		return err.Error()
	}
	return line
}
