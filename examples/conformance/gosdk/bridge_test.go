package gosdk_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"junction/router"
	"junction/router/bridge"
	"junction/router/mcp"
)

// The SDK's client sees the SDK's server through a bridge as if nothing were between
// them, whichever era either speaks.
func TestABridgeBetweenTheSDKsClientAndServerIsNotSeen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		for _, era := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
			t.Run("client "+era, func(t *testing.T) {
				through(t, s, era)
			})
		}
	})
}

func through(t *testing.T, s *router.Server, era string) {
	changed, progressed := make(chan struct{}, 16), make(chan float64, 16)
	c := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			select {
			case progressed <- r.Params.Progress:
			default: // two are enough
			}
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := c.Connect(ctx, bridged(t, s), &sdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}()
	if got := session.InitializeResult(); got.ServerInfo.Name != "counter" || got.ProtocolVersion != era {
		t.Errorf("the client sees %s in %s, want counter in %s", got.ServerInfo.Name, got.ProtocolVersion, era)
	}
	if got, err := session.ListTools(ctx, nil); err != nil || len(got.Tools) < 5 {
		t.Errorf("tools: %v, %v", got, err)
	}
	got, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "add", Arguments: map[string]any{"a": 1, "b": 2}})
	if err != nil || got.StructuredContent.(map[string]any)["sum"] != 3.0 {
		t.Errorf("add: %v, %v", got, err)
	}
	if got, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "fail"}); err != nil || !got.IsError {
		t.Errorf("fail: %v, %v", got, err)
	}
	var refusal *jsonrpc.Error
	if _, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "refuse"}); !errors.As(err, &refusal) || refusal.Code != -31001 || string(refusal.Data) != `{"opens":"Monday"}` {
		t.Errorf("refuse: %v", err)
	}
	got, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "ask"})
	if err != nil || len(got.Content) != 1 || !strings.Contains(got.Content[0].(*sdk.TextContent).Text, "hello Ada (asked once)") {
		t.Errorf("ask: %v, %v", got, err)
	}
	if _, err = session.CallTool(ctx, &sdk.CallToolParams{Name: "grow"}); err != nil {
		t.Errorf("grow: %v", err)
	}
	select {
	case <-changed:
	case <-ctx.Done():
		t.Error("the client was not told that the tools have changed")
	}

	call, stop := context.WithCancel(ctx)
	defer stop()
	params := &sdk.CallToolParams{Name: "work"}
	params.SetProgressToken("mine")
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(call, params)
		ended <- err
	}()
	for last := 0.0; last < 2; {
		select {
		case at := <-progressed:
			if at <= last {
				t.Errorf("progress %v after %v", at, last)
			}
			last = at
		case err := <-ended:
			t.Fatalf("the call ended by itself: %v", err)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		got, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "worked"})
		if err != nil {
			t.Fatalf("the server does not see the cancel: %v", err)
		}
		if c := got.StructuredContent.(map[string]any); c["begun"] == c["stopped"] {
			return
		}
		<-look.C
	}
}

// bridged is a client's way to s over a bridge.
func bridged(t *testing.T, s *router.Server) sdk.Transport {
	t.Helper()
	callers := client(t)
	b := bridge.New([]bridge.Server{{
		Name: "counter",
		Open: func(ctx context.Context, g mcp.Greeting, e mcp.Events) (bridge.Session, *router.CallError) {
			w, fail := callers.Open(ctx, s, g, e)
			if fail != nil {
				return nil, fail
			}
			return w, nil
		},
	}}, &bridge.Options{Logger: slog.New(slog.DiscardHandler)})
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), in, out); out.Close() }()
	t.Cleanup(func() {
		toBridge.Close()
		fromBridge.Close()
		if err := <-served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Serve: %v", err)
		}
	})
	return &sdk.IOTransport{Reader: fromBridge, Writer: toBridge}
}
