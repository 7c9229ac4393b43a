package schema_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// stages are the image's, read by the builder's own parser, warnings included.
func stages(t *testing.T) ([]instructions.Stage, []instructions.ArgCommand) {
	t.Helper()
	f, err := os.Open("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, description, _, message string, _ []parser.Range) {
		t.Errorf("%s: %s (%s)", rule, message, description)
	}})
	all, args, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	return all, args
}

func TestTheImageHoldsAStaticProgramOfNobody(t *testing.T) {
	t.Parallel()
	all, args := stages(t)
	if len(all) != 2 || all[1].BaseName != "scratch" || !strings.HasSuffix(all[0].BaseName, "golang:${GO_VERSION}-alpine") {
		t.Fatalf("stages %+v", all)
	}
	if v := *args[0].Args[0].Value; args[0].Args[0].Key != "GO_VERSION" || !regexp.MustCompile(`^1\.\d+\.\d+$`).MatchString(v) {
		t.Errorf("Go is not pinned: %s", v)
	}
	built := ""
	for _, c := range all[0].Commands {
		if run, ok := c.(*instructions.RunCommand); ok {
			built += strings.Join(run.CmdLine, " ") + "\n"
		}
	}
	if !strings.Contains(built, "CGO_ENABLED=0") || !strings.Contains(built, "go build -trimpath") {
		t.Errorf("it is built by\n%s", built)
	}
	user, copied := "", []string{}
	for _, c := range all[1].Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.CopyCommand:
			if c.From != "build" {
				t.Errorf("%v comes from %q", c.SourcePaths, c.From)
			}
			copied = append(copied, c.DestPath)
		case *instructions.RunCommand:
			t.Error("there is nothing in it that could run")
		}
	}
	if user != "65532:65532" {
		t.Errorf("it runs as %q", user)
	}
	want := []string{"/etc/ssl/certs/ca-certificates.crt", "/tmp", "/home/junction", "/usr/local/bin/junction"}
	if !slices.Equal(copied, want) {
		t.Errorf("it holds %v, want %v", copied, want)
	}
}

// A package that .dockerignore does not let in fails a build that nobody makes here.
func TestTheBuildGetsEveryPackageItNeeds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if !slices.Contains(lines, "*") {
		t.Error("it lets in whatever lies about")
	}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		hasGo := false
		err := filepath.WalkDir(filepath.Join("../..", e.Name()), func(path string, d os.DirEntry, err error) error {
			hasGo = hasGo || strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
			if d != nil && d.IsDir() && d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if need := e.IsDir() && hasGo && !strings.HasPrefix(e.Name(), ".") && e.Name() != "deploy"; need != slices.Contains(lines, "!"+e.Name()) && e.Name() != "go.mod" && e.Name() != "go.sum" {
			t.Errorf("%s: needed %v", e.Name(), need)
		}
	}
}
