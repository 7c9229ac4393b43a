package mcp

import (
	"testing"

	"junction/router"
	"junction/state"
)

// A 503 that only mentions a session may come from the middle of a call.
func TestWhichRefusalsSayThatASessionIsNotKnown(t *testing.T) {
	t.Parallel()
	rpc := func(id, message string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32001,"message":"` + message + `"}}`
	}
	for _, tc := range []struct {
		status int
		body   string
		lost   bool
	}{
		{404, "", true},
		{400, rpc("null", "Bad Request: No valid session ID provided"), true},
		{400, rpc("null", "Bad Request: Server not initialized"), true},
		{400, rpc("2", "Invalid Request: Session not found"), true},
		{400, rpc("2", "the argument is missing"), false},
		{410, "session terminated", true},
		{410, "gone", false},

		{503, "session expired", true},
		{503, "Session not found", true},
		{503, "Session not found.\n", true},
		{503, "Session not found or expired", true},
		{503, "unknown MCP session", true},
		{503, "No valid session ID provided", true},
		{503, `session "6f2a-77" is not known`, true},
		{503, `{"error":"Session not found"}`, true},
		{503, `{"message":"session expired"}`, true},
		{503, `{"error":{"message":"the session has expired"}}`, true},
		{503, rpc("null", "Session not found"), true},
		{503, rpc("null", "Service Unavailable: MCP session is unknown on this API instance. If you run several, make them sticky."), true},

		{503, "", false},
		{503, "session closed", false},
		{503, "session terminated", false},
		{503, "upstream session closed before the answer", false},
		{503, "the session to the database has expired", false},
		{503, "login session expired", false},
		{503, "session cookie expired", false},
		{503, "session token is invalid", false},
		{503, "Error: invalid browser session", false},
		{503, "charged, but the session was not found", false},
		{503, "upstream error: session not found", false},
		{503, "not initialized", false},
		{503, "<html><body>Your session has expired</body></html>", false},
		{503, "<html>\nsession expired\n</html>", false},
		{503, rpc("2", "session expired"), false},
		{503, rpc("2", "browser session closed"), false},
		{503, rpc("null", "backend session invalid"), false},
		{503, `["session expired"]`, false},

		{500, "session expired", false},
		{502, "session not found", false},
	} {
		x := &exchange{status: tc.status, body: []byte(tc.body), session: true}
		e := x.rejection(true)
		if lost := e.Code == router.SessionExpired && e.Execution == state.NotExecuted; lost != tc.lost {
			t.Errorf("%d %s: %s, %s; lost %v", tc.status, tc.body, e.Code, e.Execution, tc.lost)
		}
		if !tc.lost && tc.status > 499 && e.Execution != state.Unknown {
			t.Errorf("%d %s: %s", tc.status, tc.body, e.Execution)
		}
		x.session = false
		if e := x.rejection(true); e.Code == router.SessionExpired {
			t.Errorf("%d %s: lost although it named none", tc.status, tc.body)
		}
	}
}
