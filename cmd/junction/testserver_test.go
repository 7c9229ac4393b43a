package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary serves as an MCP server when this is set: it names the
// file in which the server counts its calls.
const countEnv = "JUNCTION_TEST_COUNTS"

// commandEnv makes the test binary the command itself.
const commandEnv = "JUNCTION_TEST_COMMAND"

func TestMain(m *testing.M) {
	playPiped()
	if len(os.Args) > 1 && os.Args[1] == "example-server" { // a server of the example, started by `command: junction`
		os.Exit(run(os.Args[1:], stdio()))
	}
	if os.Getenv(commandEnv) != "" {
		main()
	}
	if path := os.Getenv(countEnv); path != "" {
		if err := serveCounting(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(httpEnv) != "" {
		if err := serveEcho(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testscript.Main(m, map[string]func(){"junction": main})
}

// serveCounting serves, on stdio, lookup{n}, which appends a line to path for
// each call, and refuse{}, which always answers with a tool's error.
func serveCounting(path string) error {
	s := server.NewMCPServer("count", "1.0.0")
	s.AddTool(mcp.NewTool("lookup", mcp.WithNumber("n")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := r.GetInt("n", 0)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprintf(f, "%d\n", n); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return mcp.NewToolResultStructured(map[string]any{"n": n}, fmt.Sprint(n)), nil
	})
	s.AddTool(mcp.NewTool("refuse"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("this tool always refuses"), nil
	})
	return server.ServeStdio(s)
}

// counts reads how often each n was looked up.
func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, n := range strings.Fields(string(data)) {
		seen[n]++
	}
	return seen
}

// jsonOf decodes a document a command printed.
func jsonOf[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not one JSON document: %v\n%s", err, text)
	}
	return v
}
