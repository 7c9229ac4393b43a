package diagnose_test

import (
	"fmt"
	"os"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"
)

// stdioEnv makes the test binary an MCP server on stdio, or something that is none.
const stdioEnv = "JUNCTION_TEST_DIAGNOSE"

func TestMain(m *testing.M) {
	switch os.Getenv(stdioEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		if err := mcpserver.ServeStdio(reviewer()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "die":
		fmt.Fprintln(os.Stderr, "config.toml: no such file")
		os.Exit(3)
	case "chat":
		fmt.Println("Welcome! Loading…")
		select {}
	}
}
