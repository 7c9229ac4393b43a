// Package sse makes a server's event streams pass proxies (R33). It wraps the
// handler of any MCP server over Streamable HTTP, whatever library that is of:
//
//	mux.Handle("/mcp", sse.Handler(server.NewStreamableHTTPServer(s), nil))
//
// An answer of type text/event-stream gets Cache-Control: no-cache and
// X-Accel-Buffering: no, so that a proxy hands each event on as it comes, and a
// comment line whenever nothing was sent for 15 s, so that no proxy takes a quiet
// stream for a dead one. Other answers are left alone.
//
// A proxy in front must wait longer for the next byte than a stream is quiet: a read
// timeout of four times the interval leaves room for a busy server. An answer that is
// no stream has no such sign of life, so the timeout bounds the tools that send
// neither progress nor anything else while they work. The server's own WriteTimeout
// must be 0 or it ends streams by itself.
//
// A comment is no progress: clients of package mcp ignore it, and it sets back none
// of their clocks.
package sse
