package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state"
)

// The JSON-RPC codes a decision hangs on.
const (
	rpcHeaderMismatch     = -32020
	rpcMissingCapability  = -32021
	rpcUnsupportedVersion = -32022
)

// Why a call's context ended, where it was one of our clocks.
var (
	errIdle    = errors.New("no progress within the idle time")
	errMaximum = errors.New("the maximum time has passed")
)

// errClosed is why a server that was forgotten, or one of a closed client, cannot
// be reached.
var errClosed = errors.New("the connection was closed")

func notSent(code router.Code, message string, err error) *router.CallError {
	return &router.CallError{Code: code, Execution: state.NotExecuted, Message: message, Err: err}
}

func unknown(code router.Code, message string, err error) *router.CallError {
	return &router.CallError{Code: code, Execution: state.Unknown, Message: message, Err: err}
}

// ended is the failure of a request whose context ended. A request that was
// not sent did not execute, whatever the clock.
func ended(ctx context.Context, sent bool) *router.CallError {
	if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
		return endedBy(err, sent) // the cause may be the caller's own word for it
	}
	return endedBy(context.Cause(ctx), sent)
}

func endedBy(cause error, sent bool) *router.CallError {
	e := unknown(router.Cancelled, "cancelled by the caller", context.Canceled)
	if failure, ok := errors.AsType[*router.CallError](cause); ok {
		v := *failure
		e = &v
	}
	switch {
	case errors.Is(cause, errIdle):
		e = unknown(router.Timeout, errIdle.Error(), context.DeadlineExceeded)
		e.Clock = "idle"
	case errors.Is(cause, errMaximum):
		e = unknown(router.Timeout, errMaximum.Error(), context.DeadlineExceeded)
		e.Clock = "maximum"
	case errors.Is(cause, context.DeadlineExceeded):
		e = unknown(router.Timeout, "the caller's deadline has passed", context.DeadlineExceeded)
		e.Clock = "caller"
	}
	if !sent {
		e.Execution = state.NotExecuted
		e.Message += " before the request was sent"
	}
	return e
}

// refused says what a JSON-RPC error means. Codes of the range −32000…−32019
// carry no agreed meaning, so nothing is known of what they left behind.
func refused(d *protocol.JSONRPCErrorDetails) *router.CallError {
	e := unknown(router.ServerError, "", nil)
	switch d.Code {
	case protocol.METHOD_NOT_FOUND, protocol.INVALID_PARAMS, rpcHeaderMismatch, rpcMissingCapability:
		e.Code, e.Execution = router.CapabilityMismatch, state.NotExecuted
	case rpcUnsupportedVersion:
		e.Code, e.Execution = router.VersionUnsupported, state.NotExecuted
	}
	e.Message = fmt.Sprintf("the server answered error %d: %s", d.Code, excerpt(d.Message))
	e.RPCCode, e.Data = d.Code, d.Data
	return e
}

// asCallError returns err as the one kind of error the router sees.
func asCallError(err error) *router.CallError {
	if e, ok := errors.AsType[*router.CallError](err); ok {
		return e
	}
	return unknown(router.Transport, excerpt(err.Error()), nil)
}

// recovered turns a panic into an error. Nothing is known of what was sent.
func recovered(p any) *router.CallError {
	return unknown(router.Transport, fmt.Sprintf("internal error in the MCP client: %v", p), nil)
}

// during is e with the server and what was being done before its message.
func during(e *router.CallError, server, doing string) *router.CallError {
	v := *e
	v.Message = "server " + quote(server) + ", " + doing + ": " + e.Message
	return &v
}

// unanswerable reports whether a failed probe proves that a handshake would
// fail as well, so that none is tried.
func unanswerable(e *router.CallError) bool {
	switch e.Code {
	case router.AuthRequired, router.AuthMismatch:
		return true
	case router.ServerOverload:
		return e.Execution == state.NotExecuted
	case router.Transport: // where there is a status, the issuer of tokens is out of reach
		return e.HTTPStatus == 0 || e.HTTPStatus == http.StatusUnauthorized || e.HTTPStatus == http.StatusForbidden
	}
	return false
}

// supported reads error −32022's list of versions.
func supported(data any) []string {
	m, _ := data.(map[string]any)
	list, _ := m["supported"].([]any)
	var versions []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			versions = append(versions, s)
		}
	}
	slices.Sort(versions)
	return versions
}
