// Package mcptool puts a ledger around the tools of an mcp-go server, so that a
// call executes once for each idempotency key.
//
//	tool, err := mcptool.New(l, nil)
//	…
//	s := server.NewMCPServer("stock", "1.0.0", server.WithToolHandlerMiddleware(tool.Handle))
//
// or around one handler:
//
//	s.AddTool(reserve, tool.Handle(handler))
//
// As middleware it lets tools pass that declare readOnlyHint, and no others.
//
// # What a client is answered
//
//   - The tool's result, its own error (isError) included: it is final under the
//     key. Its _meta has dev.junction/ledger: {receipt, replayed, executions}.
//   - isError with the structured content {"code": "idempotency_conflict", …} when
//     the key stands for other arguments or another tool, with
//     "idempotency_in_progress" while a call with the key is under way, and with
//     "idempotency_key_missing" when there is no key: nothing was done. Junction's
//     router acts on the first two; see its offers' effect: conditional.
//   - A JSON-RPC error when the outcome is unknown or the ledger cannot be reached:
//     no answer of the tool, so nothing that a client may take for final.
//
// Tool errors undo what the handler wrote inside the ledger's transaction. A
// handler's Go error is no result: the key is free, see ledger.Effect. A result
// that asks the client for input is no result yet, and is not stored: such a
// handler must have done nothing before it has all it needs. Calls that mcp-go runs
// as tasks do not pass a handler's middleware.
package mcptool
