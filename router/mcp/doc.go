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
//   - A request is sent at most once. Only one that the server refused before it
//     began is sent again: once because its session was gone, and once with each
//     other credential that the server may take. One that a server wants to be
//     asked again, with a state that it gives, is another request.
//   - Every failure is one [*router.CallError] whose Execution says what is
//     known: not executed when the request provably never reached the tool,
//     else unknown.
//   - A request ends once, by what comes first: its answer, its caller's cancel, one
//     of its clocks, or its connection's end. Nothing is sent for it afterwards but
//     word of the cancel, where the transport has any, and what still arrives is
//     dropped and counted by its kind ([Client.Strays]).
//   - Progress that rises holds the idle clock off and never the maximum; it is told
//     ten times a second at most, the newest always.
//   - No credential appears in an error, a log line or a session handle. Each is
//     sent to the origin it was configured for, and to no other.
//
// # Whom a server knows us as
//
// What is under [router.Dial.Auth] is shown where it is asked for. A 401 names the
// schemes that the server takes (WWW-Authenticate, X-MCP-Auth-Schemes, the metadata
// of RFC 9728); the first credential of such a scheme goes with the same request
// once more, and with each one from there on. Where none fits, the handshake fails,
// before any call: MCP_AUTH_MISMATCH, or MCP_AUTH_REQUIRED where none is held.
//
// Tokens of oauth are renewed beside the calls after 0.7 of their life or 300 s, and
// waited for in their last 30 s; a token or a file's content that is refused sooner
// is renewed once, by one of the calls for all. Where a session's credential is
// refused and another one fits, another session is opened. A session of the earlier
// era that says how long it lives (X-MCP-Session-TTL, session_ttl) is replaced in
// its last 30 s. All times are reckoned on our own monotonic clock.
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
//
// # Calls that become tasks
//
// A call with OnTask lets the server make a task of it. In the later era the server
// decides (extension io.modelcontextprotocol/tasks); in the earlier one (2025-11-25)
// we ask for a task where the tool's taskSupport is "required", and where it is
// "optional" and the call may run for more than 5 minutes. OnTask is told of the task
// before it is waited for, even if the caller has gone meanwhile.
//
// The task is asked for at the server's interval (within 50 ms and 30 s, and half the
// idle time; unsaid: quickly at first, then every second) over whatever connection there
// is: a lost one, a new session, a server that restarts, 429, 503 and other 5xx do not
// end the wait; the idle clock stands still meanwhile, the maximum does not. What is new
// in a status sets the idle clock back. A failure is always of unknown execution, also
// that of a task that the server cancelled (MCP_SERVER_ERROR; MCP_CANCELLED is what we
// do) or does not know any more.
//
// Who gives up the wait (a cancel, a clock, a question that nobody can answer) has
// tasks/cancel sent in the background; for 30 s the task is then asked for until it
// has ended, and a result that it still brings is counted as [LateAnswer]. When the
// context's cause is state.ErrDraining or state.ErrLeaseLost, when OnTask fails, and
// when the client is closed, nothing is sent: whoever has the record attaches to it.
//
// # Questions in the middle of a call
//
// In the later era a question is a result (ToolResult.Input), and the call goes on when
// it is made again with the answers; one that a task asks is answered to the task
// (Attach and Input together). In the earlier era (Options.Elicitation) the call stays
// open meanwhile: the question goes to the call on whose stream it came, whose task it
// names, or that is the only one open which can ask, else it is declined with the
// reason in its _meta. A call's questions are put one after another, eight may wait. The
// idle clock stands still, the maximum does not; when the call ends first the answer is
// cancel. Sampling and roots are advertised to nobody, and refused.
//
// # A connection for whoever speaks MCP
//
// Above all this, [Client.Open] gives a connection of its own to one who brings the
// messages: a [Wire]. It reads no tools, follows no tasks, asks nobody and has no
// clocks; what it knows is how each era and transport carry, cancel and lose a message.
// Ids, progress tokens and subscription ids are its own on the server's side, and are
// taken off what it hands on. A request of the server is told with a context, which
// ends when the server withdraws it, when the request on whose stream it came has
// ended, or with the connection; 64 may be open at once, and the rest is refused.
//
// In the earlier era a server over HTTP is listened to on a stream of its own for as
// long as the wire lives, and what it said while that was broken is lost: who keeps
// lists reads them again with each new wire. There is no Last-Event-ID but for the
// stream of a request that the server ended on purpose before its answer.
package mcp
