package codereview_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"junction/examples/codereview/server"
	"junction/graph"
	"junction/graph/workflow"
	"junction/router"
	"junction/router/mcp"
	"junction/router/static"
	"junction/state/sqlite"
)

// TestMain lets the test binary serve the example's reviewers, as the command
// does: `command: junction` in the servers file is the running executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "example-server" {
		os.Exit(server.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A program reviews a repository's last change through the packages: what the
// command line does, in about thirty lines.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "junction-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	repo := repositoryWithAFault(filepath.Join(dir, "repo"))

	report, err := review(ctx, filepath.Join(dir, "state.db"), repo)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "- `main.go") {
			fmt.Print(line)
		}
	}
	// Output:
	// - `main.go:5:27` fmt.Printf format %d has arg "five" of wrong type string (go, printf)
}

// review runs the example's workflow on a repository and returns its report.
func review(ctx context.Context, database, repo string) (report string, err error) {
	store, err := sqlite.Open(ctx, database, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	servers, err := static.Load("junction.yaml", nil)
	if err != nil {
		return "", err
	}
	client := mcp.New(nil)
	defer func() { err = errors.Join(err, client.Close(ctx)) }()
	wf, err := workflow.Load("review.yaml")
	if err != nil {
		return "", err
	}
	input, err := wf.Input(map[string]any{"repo": repo})
	if err != nil {
		return "", err
	}
	g, err := graph.Compile(wf.Spec(router.New(servers.Discovery(), client, nil)))
	if err != nil {
		return "", err
	}
	res, err := g.Run(ctx, graph.RunOptions{Store: store, Definition: wf.Text, Input: input})
	if err = errors.Join(err, res.Err); err != nil {
		return "", err
	}
	return res.State["report"].(string), nil
}

// repositoryWithAFault makes a repository whose only commit holds one.
func repositoryWithAFault(dir string) string {
	files := map[string]string{
		"go.mod":  "module example\n\ngo 1.24\n",
		"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Printf(\"%d\\n\", \"five\") }\n",
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "first"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			log.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}
