package router_test

import (
	"context"
	"errors"
	"testing"

	"junction/router"
	"junction/state"
)

func TestWhatALedgerDeclaresInItsAnswer(t *testing.T) {
	said := func(code string) map[string]any { return map[string]any{"code": code} }
	toolError := func(code string) reply {
		return func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{IsError: true, Structured: said(code), Text: "no"}, nil
		}
	}
	rpcError := func(code string) reply {
		return fails(router.CallError{Code: router.ServerError, Execution: state.Unknown, RPCCode: -32603, Data: said(code)})
	}
	for _, c := range []struct {
		name   string
		effect state.Effect
		first  reply
		code   string // of the hop's error; "": it succeeds
		calls  int
	}{
		{"a conflict as a tool's error", state.Conditional, toolError("idempotency_conflict"), "MCP_IDEMPOTENCY_CONFLICT", 1},
		{"a conflict as a JSON-RPC error", state.Conditional, rpcError("MCP_IDEMPOTENCY_CONFLICT"), "MCP_IDEMPOTENCY_CONFLICT", 1},
		{"in progress as a tool's error", state.Conditional, toolError("idempotency_in_progress"), "", 2},
		{"in progress as a JSON-RPC error", state.Conditional, rpcError("MCP_IDEMPOTENCY_IN_PROGRESS"), "", 2},
		{"a tool's own error", state.Conditional, toolError("not_found"), "", 1},
		{"the same word of a tool that has no key", state.Unsafe, toolError("idempotency_conflict"), "", 1},
		{"the word in the text only", state.Conditional, func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{IsError: true, Text: "idempotency_conflict"}, nil
		}, "", 1},
		{"the word in a good answer", state.Conditional, func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{Structured: said("idempotency_conflict")}, nil
		}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Offers[0].Effect = c.effect
				k.answer = func(ctx context.Context, n int, call router.ToolCall) (*router.ToolResult, error) {
					if n == 1 {
						return c.first(ctx, n, call)
					}
					return answers("a")(ctx, n, call)
				}
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				book := &ledgerBook{}
				ctx, _ := task{book: book}.context(t)
				_, err := r.Do(ctx, work)
				code := ""
				if failed, ok := errors.AsType[*router.AttemptsError](err); ok {
					code = failed.Code()
				}
				if code != c.code || (err == nil) != (c.code == "") || len(f.calls) != c.calls {
					t.Errorf("%v after %d calls; want code %q after %d", err, len(f.calls), c.code, c.calls)
				}
				if c.code != "" {
					if all, _ := book.Records(ctx, state.RecordFilter{}); all[len(all)-1].Execution != state.NotExecuted {
						t.Errorf("recorded %v", statuses(all))
					}
				}
			})
		})
	}
}
