package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"junction/router"
	"junction/state/value"
)

// readResult decodes the answer to tools/call. Numbers stay exact.
func readResult(ctx context.Context, raw json.RawMessage, out *schema) (*router.ToolResult, *router.CallError) {
	v, err := value.Parse(raw)
	return resultOf(ctx, v, err, out)
}

// resultOf is what an answer to tools/call says that was parsed, or could not be.
func resultOf(ctx context.Context, v any, err error, out *schema) (*router.ToolResult, *router.CallError) {
	invalid := func(message string) (*router.ToolResult, *router.CallError) {
		return nil, unknown(router.OutputInvalid, message, nil)
	}
	if err != nil {
		return invalid("the result cannot be read: " + excerpt(err.Error()))
	}
	m, ok := v.(map[string]any)
	if !ok {
		return invalid("the result is no object")
	}
	switch kind := m["resultType"]; kind {
	case nil, "complete":
	case "input_required":
		return invalid("the server asks for input in the middle of the call, which it was not offered")
	case "task":
		return invalid("the server answered with a task, which it was not offered")
	default:
		name, _ := kind.(string)
		return invalid("the result is of the unknown type " + quote(name))
	}
	r := &router.ToolResult{Structured: m["structuredContent"]}
	if r.IsError, ok = m["isError"].(bool); !ok && m["isError"] != nil {
		return invalid("isError is not a boolean")
	}
	if r.Content, ok = m["content"].([]any); !ok && (m["content"] != nil || r.Structured == nil) {
		return invalid("the result has no list of content")
	}
	r.Text = text(r.Content)
	if out != nil && !r.IsError {
		if r.Structured == nil {
			return invalid("the tool declares an output schema, and the result has no structured content")
		}
		if err := out.check(ctx, r.Structured); err != nil {
			return nil, misfit(ctx, router.OutputInvalid, "the structured content breaks the tool's output schema: ", err, true)
		}
	}
	return r, nil
}

// text joins the text blocks by newlines.
func text(content []any) string {
	var parts []string
	for _, c := range content {
		block, _ := c.(map[string]any)
		if s, ok := block["text"].(string); ok && block["type"] == "text" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}
