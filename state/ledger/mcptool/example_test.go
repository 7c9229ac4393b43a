package mcptool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mark3labs/mcp-go/mcp"

	"junction/state/ledger"
	"junction/state/ledger/mcptool"
	"junction/state/ledger/sqlite"
)

func ExampleTool_Handle() {
	if err := handled(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ticket 1
	// ticket 1
	// idempotency_conflict
}

func handled(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "ledger-example-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "tickets.db"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := ledger.New(store, &ledger.Options{Place: ledger.Inside})
	if err != nil {
		return err
	}
	tool, err := mcptool.New(l, nil)
	if err != nil {
		return err
	}
	sold := 0
	sell := tool.Handle(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		sold++
		return mcp.NewToolResultText(fmt.Sprint("ticket ", sold)), nil
	})
	for _, seat := range []string{"12a", "12a", "12b"} {
		var r mcp.CallToolRequest
		r.Params.Name = "sell"
		r.Params.Arguments = map[string]any{"seat": seat, "idempotencyKey": "order 17"}
		result, err := sell(ctx, r)
		switch {
		case err != nil:
			return err
		case result.IsError:
			fmt.Println(result.StructuredContent.(map[string]any)["code"])
		default:
			fmt.Println(result.Content[0].(mcp.TextContent).Text)
		}
	}
	return nil
}
