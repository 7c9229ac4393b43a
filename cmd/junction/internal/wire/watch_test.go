package wire

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/router"
	"junction/state"
	"junction/state/memory"
)

// stopped is a terminal whose output was stopped, until it goes on.
type stopped struct {
	on       chan struct{}
	outcomes int
}

func (s *stopped) OnDecision(router.HopInfo, router.Decision)                       { <-s.on }
func (s *stopped) OnAttempt(router.HopInfo, router.AttemptInfo)                     { <-s.on }
func (s *stopped) OnProgress(router.HopInfo, router.AttemptInfo, router.Progress)   { <-s.on }
func (s *stopped) OnOutcome(router.HopInfo, router.AttemptInfo, router.OutcomeInfo) { s.outcomes++ }

func TestAStoppedTerminalHoldsUpNoHop(t *testing.T) {
	served := mcpserver.NewMCPServer("a", "1")
	served.AddTool(protocol.NewToolWithRawSchema("echo", "", []byte(`{"type":"object"}`)),
		func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
			return protocol.NewToolResultText("fine"), nil
		})
	h := httptest.NewServer(mcpserver.NewStreamableHTTPServer(served))
	defer h.Close()
	config := filepath.Join(t.TempDir(), "junction.yaml")
	if err := os.WriteFile(config, []byte("mcpServers:\n  a:\n    url: "+h.URL+"/mcp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	terminal := &stopped{on: make(chan struct{})}
	app, err := OpenWith(t.Context(), memory.New(nil), Settings{Config: config, Observer: terminal})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 {
		if _, err := app.Router.Do(ctx, state.Call{Server: "a", Tool: "echo", Effect: state.Safe}); err != nil {
			t.Fatal(err)
		}
	}
	close(terminal.on)
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	if terminal.outcomes != 3 {
		t.Errorf("%d outcomes were shown of 3", terminal.outcomes)
	}
}
