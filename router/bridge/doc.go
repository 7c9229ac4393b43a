// Package bridge keeps one MCP client's connection whole while the servers behind it
// die, restart and move (R37 to R39).
//
// A client speaks to a bridge over standard streams, as to any server ([Front]). Each
// server behind it has a [Line]: a stable end upward, live sessions replaced
// underneath. What lies between the two translates where client and server are of
// different eras.
//
//	client ── stdio ── Front ── Bridge ─┬─ Line ── Session ── server
//	                                    ├─ Line ── Session ── server
//	                                    └─ a router's hop, where a capability is asked for
//
// What a bridge has of one server (behind) speaks the client's era upward and the
// server's downward, whichever it has after a reconnect; what each new session is given
// again, subscriptions and the level of messages, is kept there. One server is all there
// is behind a transparent bridge; above several stands a table (middle is what the two
// have in common).
//
// # Invariants
//
//  1. The client's connection outlives every server. Each request of it is answered
//     once: with a server's answer, or with an error that names the server, since when
//     it is away and what was done about it. None waits for ever for a server that is
//     away; how long one that lives may take is the client's to say.
//  2. What was sent and not answered is sent again only where [Request.Again] allows it,
//     or the failure says that it was not executed. A request that was cancelled before
//     it was sent is never sent.
//  3. On a line requests leave in the order in which they came, also after a
//     reconnect; nothing leaves on a new session before its handshake, and what is
//     restored there (subscriptions, lists, log level), are done.
//  4. A line's queue is bounded. Who comes when it is full is refused at once.
//  5. A server cannot hold up another, nor the client's reading and writing; a client
//     that does not read holds up no server. Notifications give way first, answers
//     have room: as many as requests are open.
//  6. Ids and progress tokens of one side never reach the other: each side has its own,
//     so that a late or forged one finds nothing.
//
// # States of a line
//
//	            first request                 handshake, restored
//	(idle) ─────────────────▶ reconnecting ──────────────────────▶ connected
//	                            ▲      │ attempt failed: back-off    │
//	                            │      └──────────┐                  │ gone · 3 heartbeats missed
//	                            └─────────────────┴──────────────────┘
//	any ── Close ──▶ closed
//
// A heartbeat is due every PingInterval in which nothing was heard, and missed when
// PingTimeout passes without anything being heard. Back-off is R35's (250 ms, doubled
// to 8 s, full jitter), never gives up and is reset by success; a request that comes
// while a long one runs has one attempt made at once. The end of a session is the first
// failure of a row, so that clients do not come back all at once; that of one which
// lived for less than 8 s goes on with the row before it, since it has cured nothing.
//
// # Orderings
//
// A request has left when its session has said so ([mcp.Request.Sent]), or has had
// 100 ms for it: the next is handed over then. It has its place by arrival and keeps it
// when it comes back. One that nothing is before is handed over by who brings it, where
// the session is one that does not hang; all others by the line's keeper. A session that
// is given up while its server lives (it takes no new request, it forgot the session) goes
// on with what it began for as long as that is waited for: nothing new leaves on it, three
// missed heartbeats are its end too, and of more than four such the oldest is cut. What
// leaves on the next one waits for it, up to 2 s, so that what comes back is in its place
// before. Five sessions lost under one request are its end, whatever it is.
//
//	cancel · queued                      the request leaves the queue, nothing is sent
//	cancel · sent                        the session tells the server, the answer is dropped
//	session gone · queued                it stays, and is sent on the next session
//	session gone · sent, not executed    back to its place in the queue
//	session gone · sent, unknown         Again: back to its place; else the error
//	session gone · answered              the answer stands
//	session given up, alive · sent       it goes on; cut: as with a session that is gone
//	refused for a time (Retry-After)     it rests in its place, others pass it
//	stream broken, session alive         as with a session that is gone
//	a bare 502, 503, 504                 Again: it rests for a back-off, 10 times; else the error
//	waited too long · queued             the error; it is not sent any more
//	closed · any                         the error
package bridge
