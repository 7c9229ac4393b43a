package mcptool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"junction/state/ledger"
	"junction/state/value"
)

// What a ledger says in the member code of structured content.
const (
	codeConflict   = "idempotency_conflict"
	codeInProgress = "idempotency_in_progress"
	codeMissing    = "idempotency_key_missing"
)

func refusal(code, message string) *mcp.CallToolResult {
	result := mcp.NewToolResultStructured(map[string]any{"code": code, "message": message}, message)
	result.IsError = true
	return result
}

// stored is what is kept of a result: a canonical value without secrets. A tool's
// own error is a *ledger.RefusedError, or, if it frees its key, an errFree.
func (t *Tool) stored(result *mcp.CallToolResult) (any, error) {
	plain := *result
	plain.ResultType = "" // belongs to the protocol that a client speaks
	data, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("%w: the tool's result: %w", ledger.ErrUnsure, err)
	}
	v, err := value.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: the tool's result: %w", ledger.ErrUnsure, err)
	}
	t.mask(v.(map[string]any))
	switch {
	case !result.IsError:
		return v, nil
	case t.o.FreeOnError:
		return nil, &freeError{v}
	}
	return nil, &ledger.RefusedError{Result: v}
}

// freeError carries a tool's own error past a ledger that keeps nothing of it.
type freeError struct{ result any }

func (*freeError) Error() string { return "the tool failed, and its key is free" }

// shortest is the length from which a secret is looked for in text: below, it
// would be found everywhere.
const shortest = 4

// mask hides the secrets of a result, in place.
func (t *Tool) mask(result map[string]any) {
	if len(t.secrets) == 0 {
		return
	}
	var hidden []string
	if content, ok := result["structuredContent"]; ok {
		result["structuredContent"], hidden = t.secrets.Mask(content)
	}
	blocks, _ := result["content"].([]any)
	var texts []func(func(string) string)
	for _, b := range blocks {
		block, _ := b.(map[string]any)
		resource, _ := block["resource"].(map[string]any)
		for _, holder := range []map[string]any{block, resource} {
			text, ok := holder["text"].(string)
			if !ok {
				continue
			}
			masked, more := t.maskText(text)
			holder["text"] = masked
			hidden = append(hidden, more...)
			texts = append(texts, func(change func(string) string) { holder["text"] = change(masked) })
		}
	}
	slices.SortFunc(hidden, func(a, b string) int { // one may be part of another
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, change := range texts {
		change(func(text string) string {
			for _, secret := range hidden {
				if len(secret) >= shortest {
					text = strings.ReplaceAll(text, secret, ledger.Masked)
				}
			}
			return text
		})
	}
}

// maskText hides the secrets of a text that is JSON.
func (t *Tool) maskText(text string) (masked string, hidden []string) {
	v, err := value.Parse([]byte(text))
	if err != nil {
		return text, nil
	}
	v, hidden = t.secrets.Mask(v)
	if len(hidden) == 0 {
		return text, nil
	}
	encoded, err := value.Encode(v)
	if err != nil {
		return ledger.Masked, hidden // it was read and cannot be written: keep none of it
	}
	return string(encoded), hidden
}

// answer is what a client is told.
func answer(a ledger.Answer, err error) (*mcp.CallToolResult, error) {
	free, freed := errors.AsType[*freeError](err)
	switch {
	case freed && !errors.Is(err, ledger.ErrUnknown):
		data, err := value.Encode(free.result)
		if err != nil {
			return nil, err
		}
		return decode(data, nil)
	case errors.Is(err, ledger.ErrMismatch):
		return refusal(codeConflict, err.Error()), nil
	case errors.Is(err, ledger.ErrInProgress):
		return refusal(codeInProgress, err.Error()), nil
	case errors.Is(err, ledger.ErrNoKey):
		return refusal(codeMissing, err.Error()), nil
	case err != nil:
		return nil, err
	}
	return decode(a.Result, map[string]any{"receipt": a.Receipt, "replayed": a.Replayed, "executions": a.Executions})
}

// decode makes a result of what was stored, with what is known of its execution.
func decode(data []byte, about map[string]any) (*mcp.CallToolResult, error) {
	var result mcp.CallToolResult
	if err := json.Unmarshal(data, &result); err != nil {
		return nil, fmt.Errorf("the stored result: %w", err)
	}
	if about != nil {
		if result.Meta == nil {
			result.Meta = &mcp.Meta{}
		}
		result.Meta.SetMetaField(MetaName, about)
	}
	return &result, nil
}
