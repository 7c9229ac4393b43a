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

	"junction/state"
	"junction/state/memory"
)

func TestHowServersFaredIsKeptInTheStore(t *testing.T) {
	t.Parallel()
	served := mcpserver.NewMCPServer("a", "1")
	served.AddTool(protocol.NewToolWithRawSchema("echo", "", []byte(`{"type":"object"}`)),
		func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
			return protocol.NewToolResultText("fine"), nil
		})
	h := httptest.NewServer(mcpserver.NewStreamableHTTPServer(served))
	defer h.Close()
	config := filepath.Join(t.TempDir(), "junction.yaml")
	text := "mcpServers:\n  a:\n    url: " + h.URL + "/mcp\n    offers: [{capability: echoing, tool: echo, effect: safe}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store := memory.New(nil)
	app, err := OpenWith(t.Context(), store, Settings{Config: config, Worker: "w-1"})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now().Truncate(time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func() {
		t.Helper()
		if _, err := app.Router.Do(ctx, state.Call{Capability: "echoing"}); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (calls int, last state.HealthSample) {
		t.Helper()
		samples, err := store.Health(ctx, "a", begun, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samples {
			calls, last = calls+s.Calls, s
		}
		return calls, last
	}
	call()
	call()
	if err := app.SaveHealth(ctx); err != nil {
		t.Fatal(err)
	}
	calls, s := kept()
	if calls != 2 || s.Worker != "w-1" || s.Capability != "echoing" || s.P95 <= 0 || s.Score <= 0 || s.Failures != 0 {
		t.Errorf("%d calls, last %+v", calls, s)
	}
	call()
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	if calls, s = kept(); calls != 3 {
		t.Errorf("after the close: %d calls, last %+v", calls, s)
	}
}

func TestARunThatIsLeftToWorkersKeepsNoHistory(t *testing.T) {
	t.Parallel()
	app, err := OpenWith(t.Context(), memory.New(nil), Settings{Detach: true, Dir: t.TempDir(), Workflow: filepath.Join(t.TempDir(), "w.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	if app.history != nil {
		t.Error("it does")
	}
	if err := app.SaveHealth(t.Context()); err != nil {
		t.Error(err)
	}
	if err := app.Close(); err != nil {
		t.Error(err)
	}
}
