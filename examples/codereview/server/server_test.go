package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"junction/examples/codereview/repo/repotest"
	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/server"
)

// TestMain lets the test binary stand in for the server's.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_SERVER") != "" {
		os.Exit(server.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// serveStdio starts a server as a process and connects to it.
func serveStdio(t *testing.T, args ...string) *client.Client {
	t.Helper()
	tr := transport.NewStdioWithOptions(os.Args[0], nil, args, transport.WithCommandFunc(
		func(_ context.Context, command string, _ []string, args []string) (*exec.Cmd, error) {
			cmd := exec.Command(command, args...)
			cmd.Env = append(os.Environ(), "EXAMPLE_SERVER=1")
			return cmd, nil
		}))
	return connect(t, tr)
}

// serveHTTP starts a server over HTTP in this process and connects to it.
func serveHTTP(t *testing.T, args ...string) *client.Client {
	t.Helper()
	return connectTo(t, startHTTP(t, args...))
}

// startHTTP starts a server over HTTP in this process and returns its URL.
func startHTTP(t *testing.T, args ...string) string {
	t.Helper()
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- server.Main(ctx, append(args, "--http", "127.0.0.1:0"), strings.NewReader(""), stderr, stderr)
		stderr.Close() //nolint:errcheck // only the reader's end of file matters
	}()
	t.Cleanup(func() {
		cancel()
		if c := <-code; c != 0 {
			t.Errorf("exit code %d", c)
		}
		said.Close() //nolint:errcheck // only read from
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, ok := strings.Cut(strings.TrimSpace(line), " at ")
	if !ok {
		t.Fatalf("the server said %q", line)
	}
	return url
}

func connectTo(t *testing.T, url string) *client.Client {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(url)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, tr)
}

func connect(t *testing.T, tr transport.Interface) *client.Client {
	t.Helper()
	c := client.NewClient(tr)
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // a server that was told to die gives an error here
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func call(ctx context.Context, c *client.Client, tool string, arguments any) (*mcp.CallToolResult, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	return c.CallTool(ctx, r)
}

// ask calls a tool that must succeed and decodes its structured answer.
func ask[T any](t *testing.T, c *client.Client, tool string, arguments any) T {
	t.Helper()
	result, err := call(t.Context(), c, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	if result.IsError {
		t.Fatalf("%s failed: %v", tool, result.Content)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// seeded is a repository with one fault for each reviewer.
func seeded(t *testing.T) *repotest.Repo {
	t.Helper()
	r := repotest.New(t)
	r.Write("go.mod", "module example.org/seeded\n\ngo 1.24\n")
	r.Write("count.go", "package seeded\n\nfunc count() int { return 3 }\n")
	r.Write("print.go", "package seeded\n\nimport \"fmt\"\n\n// Print prints.\nfunc Print() { fmt.Printf(\"%s\\n\", count()) }\n")
	r.Write("drop.go", "package seeded\n\nimport \"fmt\"\n\nfunc drop() {\n\tfmt.Sprintf(\"%d\", count())\n}\n")
	r.Write("web/app.js", "const a = 1;\nfunction f( {\n")
	r.Write("tool/run.py", "def f(:\n    pass\n")
	r.Write("deploy/env", "# settings\nAWS_ACCESS_KEY_ID="+"AKIA"+"Q4ZT7NPLX3M2VBRC"+"\n")
	r.Commit()
	return r
}

type file struct{ Path, Language, After, Revision string }

func TestSeededFaultsAreFoundOverBothTransports(t *testing.T) {
	tests := []struct{ reviewer, path, rule, line string }{
		{"go", "print.go", "printf", "6"},
		{"go", "drop.go", "unusedresult", "6"},
		{"js", "web/app.js", "syntax", "2"},
		{"python", "tool/run.py", "syntax", "1"},
		{"secrets", "deploy/env", "aws-access-key", "2"},
	}
	repo := seeded(t)
	for name, start := range map[string]func(*testing.T, ...string) *client.Client{"stdio": serveStdio, "HTTP": serveHTTP} {
		t.Run(name, func(t *testing.T) {
			diff := ask[struct {
				Repo  string
				Files []file
			}](t, start(t, "--reviewer", "diff", "--dir", repo.Dir), "diff", map[string]any{"repo": "."})
			files := make(map[string]file)
			for _, f := range diff.Files {
				files[f.Path] = f
			}
			clients := make(map[string]*client.Client)
			for _, tt := range tests {
				if clients[tt.reviewer] == nil {
					clients[tt.reviewer] = start(t, "--reviewer", tt.reviewer, "--depth", "deep")
				}
				f := files[tt.path]
				got := ask[reviewer.Review](t, clients[tt.reviewer], "review", map[string]any{
					"code": f.After, "language": f.Language,
					"context": map[string]any{"repo": diff.Repo, "path": f.Path, "revision": f.Revision},
				})
				if len(got.Issues) != 1 {
					t.Errorf("%s: issues %+v, want one", tt.path, got.Issues)
					continue
				}
				if i := got.Issues[0]; i.Path != tt.path || i.Rule != tt.rule || tt.line != itoa(i.Line) {
					t.Errorf("%s: %+v, want %s at line %s", tt.path, i, tt.rule, tt.line)
				}
			}
		})
	}
}

func itoa(n int) string {
	b, err := json.Marshal(n)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestAServerDeclaresHowToRouteToIt(t *testing.T) {
	c := serveHTTP(t, "--reviewer", "go", "--depth", "deep", "--latency", "250ms", "--capacity", "3")
	raw, err := json.Marshal(c.GetServerCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	want := `"dev.junction/routing":{"attributes":{"language":["go"],"review_depth":["deep"]},"capability":"code-review","latency_p95_ms":250,"max_concurrent_requests":3}`
	if !strings.Contains(string(raw), want) {
		t.Errorf("capabilities %s\nlack %s", raw, want)
	}
}

func TestAToolsOwnFailureIsAnAnswer(t *testing.T) {
	c := serveHTTP(t, "--reviewer", "diff")
	result, err := call(t.Context(), c, "diff", map[string]any{"repo": repotest.New(t).Dir})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(result.Content)
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError || !strings.Contains(string(raw), "no commits yet") {
		t.Errorf("result %v %s", result.IsError, raw)
	}
}

func TestPublishingHappensOnce(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--reviewer", "ledger", "--dir", dir, "--ledger", "l.db"}
	type receipt struct {
		Receipt int
		Path    string
	}
	publish := map[string]any{"idempotencyKey": "k", "text": "# Report\n", "path": "r.md"}
	first := ask[receipt](t, serveHTTP(t, args...), "publish", publish)
	again := ask[receipt](t, serveStdio(t, args...), "publish", publish)
	if first != again || first.Path != filepath.Join(dir, "r.md") {
		t.Errorf("receipts %+v and %+v", first, again)
	}
	c := serveHTTP(t, args...)
	publish["text"] = "another"
	if result, err := call(t.Context(), c, "publish", publish); err != nil || !result.IsError {
		t.Errorf("another text under the same key: %+v, %v", result, err)
	}
	if got := ask[struct{ Total int }](t, c, "executions", map[string]any{}); got.Total != 1 {
		t.Errorf("%d executions", got.Total)
	}
}

func TestAPublicationThatCannotBeKeptIsNoAnswer(t *testing.T) {
	dir := t.TempDir()
	c := serveHTTP(t, "--reviewer", "ledger", "--dir", dir, "--ledger", ".") // a directory, which no database can be
	result, err := call(t.Context(), c, "publish", map[string]any{"idempotencyKey": "k", "text": "a"})
	if err == nil {
		t.Errorf("answered %+v: under its key, that would be final", result)
	}
}

func TestFaultsStrikeAsTold(t *testing.T) {
	review := map[string]any{"code": "let a\n", "language": "javascript"}
	t.Run("fail the first two", func(t *testing.T) {
		calls := filepath.Join(t.TempDir(), "calls")
		c := serveHTTP(t, "--reviewer", "js", "--fail", "2", "--calls", calls)
		for n, want := range []bool{true, true, false} {
			if _, err := call(t.Context(), c, "review", review); (err != nil) != want {
				t.Errorf("call %d: error %v, want one: %v", n+1, err, want)
			}
		}
		if noted, err := os.ReadFile(calls); err != nil || string(noted) != "review 1\nreview 2\nreview 3\n" {
			t.Errorf("noted %q, %v", noted, err)
		}
	})
	t.Run("fail at a rate", func(t *testing.T) {
		c := serveHTTP(t, "--reviewer", "js", "--fail", "0.5")
		failed := 0
		for range 40 {
			if _, err := call(t.Context(), c, "review", review); err != nil {
				failed++
			}
		}
		if failed < 10 || failed > 30 {
			t.Errorf("%d of 40 calls failed", failed)
		}
	})
	t.Run("hang", func(t *testing.T) {
		c := serveHTTP(t, "--reviewer", "js", "--hang")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := call(ctx, c, "review", review); err == nil {
			t.Error("a server that hangs answered")
		}
	})
	t.Run("slow", func(t *testing.T) {
		c := serveHTTP(t, "--reviewer", "js", "--slow", "60ms")
		start := time.Now()
		ask[reviewer.Review](t, c, "review", review)
		if d := time.Since(start); d < 60*time.Millisecond {
			t.Errorf("answered after %v", d)
		}
	})
	t.Run("die in mid-call", func(t *testing.T) {
		c := serveStdio(t, "--reviewer", "js", "--die-after", "1")
		ask[reviewer.Review](t, c, "review", review)
		if _, err := call(t.Context(), c, "review", review); err == nil {
			t.Error("a server that died answered")
		}
	})
}

func TestWrongFlagsAreExplained(t *testing.T) {
	tests := []struct {
		name, want string
		args       []string
		code       int
	}{
		{"no reviewer", "--reviewer", nil, 2},
		{"unknown reviewer", "cobol", []string{"--reviewer", "cobol"}, 2},
		{"rate above one", "1.5", []string{"--reviewer", "go", "--fail", "1.5"}, 2},
		{"no room", "--capacity 0", []string{"--reviewer", "go", "--capacity", "0"}, 2},
		{"address in use", "listen", []string{"--reviewer", "js", "--http", "256.0.0.1:0"}, 1},
		{"help", "Example:", []string{"--help"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if code := server.Main(t.Context(), tt.args, strings.NewReader(""), &out, &out); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("it said %q, without %q", out.String(), tt.want)
			}
		})
	}
}

func TestAMissingToolIsSaidAtTheStart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out strings.Builder
	code := server.Main(t.Context(), []string{"--reviewer", "rust"}, strings.NewReader(""), &out, &out)
	if code != 1 || !strings.Contains(out.String(), "rustc is not installed") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
