// Package debug lets whoever diagnoses a server see what a proxy between them does
// (R45). It wraps the handler of any MCP server over Streamable HTTP, whatever
// library that is of, inside of what looks after its streams:
//
//	mux.Handle("/mcp", sse.Handler(debug.Handler(server.NewStreamableHTTPServer(s)), nil))
//
// A request that carries X-MCP-Debug: true is served as ever, and its answer says in
// X-MCP-Debug-Arrived which of the headers X-MCP-* and Mcp-* arrived.
//
// A POST of the JSON-RPC method dev.junction/debug is answered by the wrapper: with
// an event stream of three notifications, 100 ms apart, each of which says when it
// was sent, and then the result. Both tell what arrived, for a proxy that removes the
// header that asks cannot remove the method:
//
//	{"method":"notifications/dev.junction/debug","params":{"n":1,"of":3,"at_ms":0}}
//	{"id":1,"result":{"resultType":"complete","_meta":{"dev.junction/debug":{
//	  "headers":{"Mcp-Method":"dev.junction/debug","Mcp-Session-Id":"sha256:9f86d081884c7d65"},"passed":["Via"],"at_ms":300}}}}
//
// With {"quiet_ms":60000} among the parameters the stream is quiet for so long before
// its result, five minutes at most: then a cut tells how long the proxies wait.
//
// Nothing is called and nothing is stored, so the method needs no session. The value
// of a header that may be a credential is given as a digest, and those of Via,
// Forwarded and their like not at all.
package debug
