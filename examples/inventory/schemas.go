package inventory

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	reserveInput = `{"type": "object", "additionalProperties": false,
	"required": ["sku", "quantity", "tenant", "operation"],
	"properties": {
		"sku": {"type": "string", "minLength": 1},
		"quantity": {"type": "integer", "minimum": 1},
		"tenant": {"type": "string", "minLength": 1},
		"operation": {"type": "string", "minLength": 1, "description": "what it is for, such as an order's line"},
		"payment": {"type": "object", "description": "of a deposit; kept nowhere"},
		"idempotencyKey": {"type": "string", "description": "names the intent: the same for every try; without one the call is refused"}}}`
	reserveOutput = `{"type": "object",
	"required": ["reservation", "sku", "quantity", "tenant", "operation", "free"],
	"properties": {
		"reservation": {"type": "string"}, "sku": {"type": "string"}, "quantity": {"type": "integer"},
		"tenant": {"type": "string"}, "operation": {"type": "string"},
		"free": {"type": "integer", "description": "left when it was reserved"}, "payment": {"type": "object"}}}`
	getInput = `{"type": "object", "additionalProperties": false,
	"required": ["sku"], "properties": {"sku": {"type": "string", "minLength": 1}}}`
	getOutput = `{"type": "object", "required": ["sku", "free", "reserved"],
	"properties": {"sku": {"type": "string"}, "free": {"type": "integer"}, "reserved": {"type": "integer"}}}`
	findInput = `{"type": "object", "additionalProperties": false,
	"required": ["idempotencyKey"], "properties": {"idempotencyKey": {"type": "string"}}}`
	findOutput = `{"type": "object", "required": ["happened"],
	"properties": {"happened": {"type": "boolean"}, "result": {"type": "object"}}}`
)

func schemas(in, out string) mcp.ToolOption {
	return func(t *mcp.Tool) {
		t.RawInputSchema, t.RawOutputSchema = json.RawMessage(in), json.RawMessage(out)
		t.InputSchema = mcp.ToolInputSchema{}
	}
}

func hints(readOnly bool) mcp.ToolOption {
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		ReadOnlyHint:    mcp.ToBoolPtr(readOnly),
		DestructiveHint: mcp.ToBoolPtr(false),
		IdempotentHint:  mcp.ToBoolPtr(true),
		OpenWorldHint:   mcp.ToBoolPtr(false),
	})
}

func reserveTool() mcp.Tool {
	return mcp.NewTool("reserve_inventory",
		mcp.WithDescription("Reserve a quantity of an article, once for each idempotency key."),
		schemas(reserveInput, reserveOutput), hints(false))
}

func getTool() mcp.Tool {
	return mcp.NewTool("get_inventory",
		mcp.WithDescription("Tell how much of an article is free, and how much is reserved."),
		schemas(getInput, getOutput), hints(true))
}

func findTool() mcp.Tool {
	return mcp.NewTool("find_reservation",
		mcp.WithDescription("Tell whether the call with an idempotency key reserved something, and what it answered."),
		schemas(findInput, findOutput), hints(true))
}
