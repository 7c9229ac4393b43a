// Package mcp speaks to MCP servers: it is the [router.Caller] over mcp-go.
//
// A [Client] keeps one connection per server id, opened once and shared. A
// server is a child process (stdio) or an address (Streamable HTTP), and speaks
// either the stateless protocol of 2026-07-28 or an earlier one with a session;
// the first exchange finds out which.
//
// Invariants:
//
//   - One server's trouble stays its own. No lock is held across an exchange, a
//     connection is opened in the background while callers wait with their own
//     contexts, and a child that does not read its input delays only the calls
//     made to it, each no longer than its own clocks allow.
//   - A request is sent at most once. Only a request that the server refused
//     because its session was gone, and so did not begin, is sent again, once.
//   - Every failure is one [*router.CallError] whose Execution says what is
//     known: not executed when the request provably never reached the tool,
//     else unknown.
//   - Nothing is sent for a request after its cancel, and an answer that comes
//     later is dropped.
//   - No credential appears in an error, a log line or a session handle.
package mcp
