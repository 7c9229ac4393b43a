// Package diagnose says what is wrong with an MCP server, in seven layers (R45):
//
//	1 network              its name resolves and something accepts connections
//	2 endpoint             what answers at its address speaks MCP
//	3 capability document  it says what it can do, in schemas that can be used
//	4 authentication       what it asks for is held, and taken
//	5 session and TLS      its certificate is good, its session is known afterwards
//	6 context hash         it says the same when it is asked again
//	7 middleboxes          headers and events arrive as they were sent
//
//	report := diagnose.Server(ctx, s, nil)
//
// A layer is not reached where what it needs has failed in another one: a document
// that is shown only to who is known needs layer 4, a credential is shown only to who
// proves to be the server (layer 5), everything needs layers 1 and 2.
//
// What is measured where both ends have to help, such as which headers a proxy
// removes, takes a server with the wrapper of package debug, and is not measurable
// with others.
//
// A server that is a process has no TLS, no credentials of this kind and no
// middleboxes: those layers are not applicable.
//
// # Invariants
//
//   - No tool is called, and nothing is asked that has an effect: server/discover,
//     initialize, ping and tools/list, with their notification, and the method of
//     package debug. A session that was begun is ended.
//   - Credentials are shown by package mcp alone, to the server's own origin, where
//     its certificate is good. None is in a report: what a server repeats of them is
//     masked, and so are session ids.
//   - A server that hangs, floods or lies ends at bounds of time and size.
package diagnose
