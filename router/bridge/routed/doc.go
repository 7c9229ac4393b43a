// Package routed serves capabilities as the tools of an MCP server: each call is a hop,
// made at whichever server is best then, with the effects, retries, ledgers, questions
// and clocks of one.
//
// # Which call is which
//
// A request is a hop of its own: asked twice, a call is made twice. Who wants it made
// once gives it a key in _meta ("dev.junction/idempotency-key", up to 255 bytes). Under
// the same tool, key and arguments a call has the answer that it had before, for as
// long as the [Handler] lives; with other arguments it is refused, and a second one
// waits for the first. What failed without effect is tried anew. A call of unknown
// outcome is never made again: the client gets the evidence, and decides. Keys are
// bounded, and so are the bytes of their answers; what cannot be kept any more is
// refused, not repeated.
//
// # Questions
//
// A server's elicitation goes to the client if that can be asked: as a request in the
// earlier era; in the later one the client is sent away with it (input_required), the
// call stays open, and the client's next request goes on with it. Else it is declined.
//
// # What a tool looks like
//
// Its schemas are those of the capability's contract in the servers file. What that
// leaves out is taken from the tool of the best offer: of those with the best match,
// the first by the server's name. The schema of a tool whose arguments are mapped says
// nothing of the capability, and no tool's output schema is promised for all of them.
//
// # Errors
//
// Of a failure's code see [bridge.CodeOf]; the router's own causes are
//
//	4021 no_candidate   4022 saturated   4023 budget   4024 deadline
//
// and 4000 is any other. The member data has the code's name, the server and the hop,
// each attempt, and of an unknown outcome the evidence.
package routed
