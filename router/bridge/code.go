package bridge

import "junction/router"

// The codes of errors that are the bridge's own, in both eras: outside the range that
// JSON-RPC keeps for itself, where those of a server pass through as they are.
//
//	4001 MCP_AUTH_REQUIRED        4007 MCP_SERVER_OVERLOAD
//	4002 MCP_AUTH_MISMATCH        4008 MCP_SERVER_ERROR
//	4003 MCP_CAPABILITY_MISMATCH  4009 MCP_TIMEOUT
//	4004 MCP_OUTPUT_INVALID       4010 MCP_CANCELLED
//	4005 MCP_VERSION_UNSUPPORTED  4011 MCP_TRANSPORT
//	4006 MCP_SESSION_EXPIRED      4012 MCP_IDEMPOTENCY_CONFLICT
//
// 4000 is any other. The member data says more: see [Trouble].
var codes = map[router.Code]int{
	router.AuthRequired: 4001, router.AuthMismatch: 4002, router.CapabilityMismatch: 4003,
	router.OutputInvalid: 4004, router.VersionUnsupported: 4005, router.SessionExpired: 4006,
	router.ServerOverload: 4007, router.ServerError: 4008, router.Timeout: 4009,
	router.Cancelled: 4010, router.Transport: 4011, router.IdempotencyConflict: 4012,
}

// CodeOf is the code of a JSON-RPC error that stands for one of ours, in both eras.
func CodeOf(c router.Code) int {
	if code, ok := codes[c]; ok {
		return code
	}
	return 4000
}
