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
//
// # What a server says it can do
//
// The capability document is the answer to the handshake and the list of tools. Every
// new session reads it anew, and so does an older one after Options.Revalidate, the
// server's ttlMs, or a change that the server told of. MCP has no ETag: its messages
// are POSTs, whose answers HTTP does not revalidate. What makes the check cheap is a
// digest of the bytes received: where it is the last one's, nothing is parsed.
//
// A document with another fingerprint is drift: logged, counted ([Client.Drifts]) and
// told (Options.OnDrift). Where nobody announced it, a session over HTTP is made anew,
// at most once a minute. Readings of one server are made one at a time, a few at once
// and then one a second, whatever the server says and however it answers.
//
// A server of the later era tells of changes to its tools on a subscription only
// (subscriptions/listen): one per connection, on one goroutine that ends with it. How
// a subscription that ended is made anew is a [ReconnectPlan].
package mcp
