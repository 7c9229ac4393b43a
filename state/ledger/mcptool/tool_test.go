package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"junction/state/ledger"
	"junction/state/ledger/mcptool"
	"junction/state/ledger/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve returns a client of a server with one tool, and the ledger around it.
func serve(t *testing.T, place ledger.Place, o *mcptool.Options, handler mcpserver.ToolHandlerFunc, options ...mcp.ToolOption) (*client.Client, *ledger.Ledger) {
	t.Helper()
	l, err := ledger.New(newStore(t), &ledger.Options{Place: place, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := mcptool.New(l, o)
	if err != nil {
		t.Fatal(err)
	}
	s := mcpserver.NewMCPServer("test", "1", mcpserver.WithToolCapabilities(false), mcpserver.WithToolHandlerMiddleware(tool.Handle))
	s.AddTool(mcp.NewTool("pay", options...), handler)
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c, l
}

func call(ctx context.Context, c *client.Client, arguments, meta map[string]any) (*mcp.CallToolResult, error) {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = "pay", arguments
	if meta != nil {
		r.Params.Meta = mcp.NewMetaFromMap(meta)
	}
	return c.CallTool(ctx, r)
}

// structured is the structured content of a result, as JSON.
func structured(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func told(r *mcp.CallToolResult) map[string]any {
	m, _ := r.Meta.GetMetaField(mcptool.MetaName).(map[string]any)
	return m
}

func codeOf(r *mcp.CallToolResult) any {
	m, _ := r.StructuredContent.(map[string]any)
	return m["code"]
}

// payment counts what it does.
func payment(n *int) mcpserver.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*n++
		return mcp.NewToolResultStructuredOnly(map[string]any{"payment": *n}), nil
	}
}

func TestAToolRunsOnceForEachKey(t *testing.T) {
	t.Parallel()
	n := 0
	c, _ := serve(t, ledger.Elsewhere, nil, payment(&n))
	var receipts []any
	for i, carried := range []struct{ arguments, meta map[string]any }{
		{map[string]any{"amount": 5, "idempotencyKey": "k"}, nil},
		{map[string]any{"idempotencyKey": "k", "amount": 5.0}, nil},
		{map[string]any{"amount": 5}, map[string]any{"dev.junction/idempotency-key": "k"}},
		{map[string]any{"amount": 5, "idempotencyKey": "k"}, map[string]any{"dev.junction/idempotency-key": "k", "progressToken": 7}},
	} {
		r, err := call(t.Context(), c, carried.arguments, carried.meta)
		if err != nil || r.IsError || structured(t, r) != `{"payment":1}` {
			t.Fatalf("call %d: %+v, %v", i, r, err)
		}
		about := told(r)
		if about["replayed"] != (i > 0) || about["executions"] != 1.0 {
			t.Errorf("call %d: told %v", i, about)
		}
		receipts = append(receipts, about["receipt"])
	}
	for _, r := range receipts {
		if r != receipts[0] || r == "" || r == nil {
			t.Errorf("receipts %v", receipts)
		}
	}
	if n != 1 {
		t.Errorf("%d payments", n)
	}
}

func TestAKeyWithOtherArgumentsIsARefusalThatRoutersRead(t *testing.T) {
	t.Parallel()
	n := 0
	c, _ := serve(t, ledger.Elsewhere, &mcptool.Options{Key: "_meta.key", Ignore: []string{"trace"}}, payment(&n))
	meta := map[string]any{"key": "k"}
	for i, arguments := range []map[string]any{nil, {}, {"trace": "b"}} { // all the same
		if r, err := call(t.Context(), c, arguments, meta); err != nil || r.IsError || n != 1 {
			t.Errorf("call %d: %+v, %v", i, r, err)
		}
	}
	for _, arguments := range []map[string]any{{"amount": 6}, {"idempotencyKey": "k"}} {
		r, err := call(t.Context(), c, arguments, meta)
		if err != nil || !r.IsError || codeOf(r) != "idempotency_conflict" {
			t.Errorf("%v: %+v, %v", arguments, r, err)
		}
	}
	if n != 1 {
		t.Errorf("%d payments", n)
	}
}

func TestACallUnderWayIsARefusalThatRoutersRead(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	c, _ := serve(t, ledger.Elsewhere, nil, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(begun)
		<-finish
		return mcp.NewToolResultText("done"), nil
	})
	arguments := map[string]any{"idempotencyKey": "k"}
	ended := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), c, arguments, nil)
		ended <- err
	}()
	<-begun
	r, err := call(t.Context(), c, arguments, nil)
	if err != nil || !r.IsError || codeOf(r) != "idempotency_in_progress" {
		t.Errorf("%+v, %v", r, err)
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if r, err = call(t.Context(), c, arguments, nil); err != nil || r.IsError || told(r)["replayed"] != true {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestACallWithoutAKeyIsRefusedUnlessItMayRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       *mcptool.Options
		options []mcp.ToolOption
		runs    int
	}{
		"a mutation":                  {nil, nil, 0},
		"a mutation that may":         {&mcptool.Options{Keyless: true}, nil, 2},
		"a tool that changes nothing": {nil, []mcp.ToolOption{mcp.WithReadOnlyHintAnnotation(true)}, 2},
	} {
		n := 0
		client, _ := serve(t, ledger.Elsewhere, c.o, payment(&n), c.options...)
		for range 2 {
			r, err := call(t.Context(), client, map[string]any{"amount": 5}, nil)
			if err != nil || r.IsError != (c.runs == 0) || c.runs == 0 && codeOf(r) != "idempotency_key_missing" {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		if n != c.runs {
			t.Errorf("%s ran %d times, want %d", name, n, c.runs)
		}
	}
	n := 0
	client, _ := serve(t, ledger.Elsewhere, &mcptool.Options{Keyless: true}, payment(&n))
	for _, carried := range []struct{ arguments, meta map[string]any }{
		{map[string]any{"idempotencyKey": 7}, nil},
		{map[string]any{"idempotencyKey": "a"}, map[string]any{"dev.junction/idempotency-key": "b"}},
		{map[string]any{"idempotencyKey": strings.Repeat("k", ledger.MaxKey+1)}, nil},
	} {
		r, err := call(t.Context(), client, carried.arguments, carried.meta)
		if err != nil || !r.IsError || codeOf(r) != "idempotency_key_missing" || n != 0 {
			t.Errorf("a key that is none, %.40v: %+v, %v", carried, r, err)
		}
	}
}

func TestAToolsErrorIsFinalUnlessItFreesItsKey(t *testing.T) {
	t.Parallel()
	for free, want := range map[bool]int{false: 1, true: 2} {
		n := 0
		c, l := serve(t, ledger.Elsewhere, &mcptool.Options{FreeOnError: free}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			n++
			return mcp.NewToolResultError("sold out"), nil
		})
		for range 2 {
			r, err := call(t.Context(), c, map[string]any{"idempotencyKey": "k"}, nil)
			if err != nil || !r.IsError || len(r.Content) != 1 || r.Content[0].(mcp.TextContent).Text != "sold out" {
				t.Errorf("%+v, %v", r, err)
			}
		}
		if _, err := l.Find(t.Context(), "k"); n != want || errors.Is(err, ledger.ErrNotFound) != free {
			t.Errorf("free %v: %d runs, %v", free, n, err)
		}
	}
}

func TestAToolsErrorUndoesWhatItWroteInside(t *testing.T) {
	t.Parallel()
	n := 0
	c, _ := serve(t, ledger.Inside, nil, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n++
		tx := sqlite.Tx(ctx)
		if _, err := tx.ExecContext(ctx, "CREATE TABLE half (n INTEGER)"); err != nil { // fails where the first is left
			return nil, err
		}
		return mcp.NewToolResultError("no"), nil
	})
	for _, key := range []string{"a", "a", "b"} {
		if r, err := call(t.Context(), c, map[string]any{"idempotencyKey": key}, nil); err != nil || !r.IsError {
			t.Errorf("%s: %+v, %v", key, r, err)
		}
	}
	if n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

func TestAnOutcomeThatIsUnknownIsNoAnswerOfTheTool(t *testing.T) {
	t.Parallel()
	c, l := serve(t, ledger.Elsewhere, nil, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.Join(errors.New("the connection broke"), ledger.ErrUnsure)
	})
	for range 2 {
		if r, err := call(t.Context(), c, map[string]any{"idempotencyKey": "k"}, nil); err == nil || !strings.Contains(err.Error(), "unknown outcome") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": "paid"}}}
	if err := l.Settle(t.Context(), "k", ledger.Verdict{Outcome: ledger.Happened, Result: result}); err != nil {
		t.Fatal(err)
	}
	if r, err := call(t.Context(), c, map[string]any{"idempotencyKey": "k"}, nil); err != nil || r.Content[0].(mcp.TextContent).Text != "paid" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAResultThatAsksForInputIsNotStored(t *testing.T) {
	t.Parallel()
	l, err := ledger.New(newStore(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := mcptool.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	asks := true
	handle := tool.Handle(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if asks {
			result := mcp.NewToolResultText("")
			result.ResultType = mcp.ResultTypeInputRequired
			return result, nil
		}
		return mcp.NewToolResultText("done"), nil
	})
	var r mcp.CallToolRequest
	r.Params.Arguments = map[string]any{"idempotencyKey": "k"}
	for range 2 {
		if got, err := handle(t.Context(), r); err != nil || got.ResultType != mcp.ResultTypeInputRequired {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	asks = false
	if got, err := handle(t.Context(), r); err != nil || told(got)["replayed"] != false {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAReplayIsOfNoProtocol(t *testing.T) {
	t.Parallel()
	l, err := ledger.New(newStore(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := mcptool.New(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	handle := tool.Handle(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := mcp.NewToolResultText("done")
		result.ResultType = mcp.ResultTypeComplete // a client of an earlier one knows no such thing
		return result, nil
	})
	var r mcp.CallToolRequest
	r.Params.Arguments = map[string]any{"idempotencyKey": "k"}
	for range 2 {
		if got, err := handle(t.Context(), r); err != nil || got.ResultType != "" || len(got.Content) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestSecretsAreInNoResult(t *testing.T) {
	t.Parallel()
	const number = "4111111111111111"
	c, l := serve(t, ledger.Elsewhere, &mcptool.Options{Secrets: []string{"card.number", "cvc"}},
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := mcp.NewToolResultStructured(map[string]any{"card": map[string]any{"number": number}, "cvc": 123, "ok": true}, "paid with "+number)
			r.Content = append(r.Content, mcp.NewTextContent(`{"cvc": 123, "ok": true}`))
			return r, nil
		})
	var texts []string
	for range 2 {
		r, err := call(t.Context(), c, map[string]any{"idempotencyKey": "k", "amount": 5}, nil)
		if err != nil || structured(t, r) != `{"card":{"number":"[redacted]"},"cvc":"[redacted]","ok":true}` {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, content := range r.Content {
			texts = append(texts, content.(mcp.TextContent).Text)
		}
	}
	want := []string{"paid with [redacted]", `{"cvc":"[redacted]","ok":true}`}
	if diff := cmp.Diff(append(want, want...), texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	e, err := l.Find(t.Context(), "k")
	if err != nil || strings.Contains(string(e.Result), number) || strings.Contains(string(e.Result), "123") {
		t.Errorf("stored: %s, %v", e.Result, err)
	}
}

func TestAHandlerLearnsItsReceipt(t *testing.T) {
	t.Parallel()
	var run ledger.Run
	c, _ := serve(t, ledger.Idempotent, nil, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		run, _ = mcptool.RunOf(ctx)
		return mcp.NewToolResultText("done"), nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := call(ctx, c, map[string]any{"idempotencyKey": "k"}, nil)
	if err != nil || run.Key != "k" || run.Receipt == "" || told(r)["receipt"] != run.Receipt {
		t.Errorf("%+v, %+v, %v", run, r, err)
	}
}
