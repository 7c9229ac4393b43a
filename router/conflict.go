package router

import "junction/state"

// What a server that deduplicates by key says in the member "code" of the data
// of a JSON-RPC error, or of the structured content of a result with isError.
// MCP has no words for it, so these are ours; nothing is concluded from text,
// and nothing for a call that carries no key.
var (
	// conflictWords: the key was used with other arguments, so nothing was done.
	conflictWords = map[string]bool{string(IdempotencyConflict): true, "idempotency_conflict": true}
	// progressWords: a call with the key is under way; wait, with the same key.
	progressWords = map[string]bool{"MCP_IDEMPOTENCY_IN_PROGRESS": true, "idempotency_in_progress": true}
)

// ledgerVerdict is the failure that a ledger declared in the answer to a
// conditional call; nil when it declared none.
func ledgerVerdict(e state.Effect, result *ToolResult, failed *CallError) *CallError {
	if e != state.Conditional {
		return nil
	}
	var verdict CallError
	switch {
	case failed != nil:
		verdict = *failed
	case result.IsError:
		verdict.Data = result.Structured
	}
	m, _ := verdict.Data.(map[string]any)
	word, _ := m["code"].(string)
	var meaning string
	switch {
	case conflictWords[word]:
		verdict.Code, verdict.Execution = IdempotencyConflict, state.NotExecuted
		meaning = "the ledger knows the key with other arguments, and did nothing"
	case progressWords[word]:
		verdict.Code, verdict.Execution = IdempotencyConflict, state.Unknown
		meaning = "a call with the key is under way"
	default:
		return nil
	}
	if verdict.Message == "" {
		verdict.Message = meaning
	}
	return &verdict
}
