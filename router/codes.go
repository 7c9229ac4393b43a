package router

import (
	"fmt"
	"time"

	"junction/state"
)

// Code is one of the 12 words for what goes wrong on a hop. Decisions read the
// code and the execution, never message text.
type Code string

const (
	AuthRequired        Code = "MCP_AUTH_REQUIRED"
	AuthMismatch        Code = "MCP_AUTH_MISMATCH"
	CapabilityMismatch  Code = "MCP_CAPABILITY_MISMATCH"
	OutputInvalid       Code = "MCP_OUTPUT_INVALID"
	VersionUnsupported  Code = "MCP_VERSION_UNSUPPORTED"
	SessionExpired      Code = "MCP_SESSION_EXPIRED"
	ServerOverload      Code = "MCP_SERVER_OVERLOAD"
	ServerError         Code = "MCP_SERVER_ERROR"
	Timeout             Code = "MCP_TIMEOUT"
	Cancelled           Code = "MCP_CANCELLED"
	Transport           Code = "MCP_TRANSPORT"
	IdempotencyConflict Code = "MCP_IDEMPOTENCY_CONFLICT"
)

// CallError is a failed attempt.
type CallError struct {
	Code       Code
	Execution  state.Execution // not executed for certain, executed, or unknown
	Message    string          // for people, without secrets
	Clock      string          // of a timeout: "idle", "maximum" or "caller"
	RetryAfter time.Duration   // what the server asked for; 0: nothing
	RPCCode    int             // JSON-RPC error code; 0: none
	Data       any             // the peer's error data
	HTTPStatus int             // 0: none
	Stderr     []string        // last lines of a stdio server that did not start or died
	Err        error
}

func (e *CallError) Error() string {
	if e.Err != nil && e.Message == "" {
		return fmt.Sprintf("%s: %v", e.Code, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *CallError) Unwrap() error { return e.Err }
