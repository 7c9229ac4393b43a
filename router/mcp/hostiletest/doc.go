// Package hostiletest is an MCP server for tests that does its worst on demand:
// over stdio as a child process, which is the test binary itself, and over
// Streamable HTTP, in the stateless protocol and in the one before it.
//
//	func TestMain(m *testing.M) {
//		if hostiletest.Play() {
//			return
//		}
//		os.Exit(m.Run())
//	}
//
//	world := hostiletest.NewWorld(t)
//	bad := hostiletest.Server{ID: "bad", Fault: hostiletest.Dropped, Times: 1, World: world.URL}
//	s := bad.Stdio(t) // or bad.HTTP(t): a *router.Server
//
// A server has a tool "work", which takes effect in a [World]: there calls that
// arrived and effects that took place are counted, whatever becomes of the
// server's process and its answers. Its arguments may hold a "key", under which
// the server's ledger lets it take effect once, and an "order", by which the tool
// "verify" finds what took effect: {happened, result}.
//
// A [Fault] is done at the tool's call, after it took effect, unless it is a
// refusal; or where [Server.At] says. Nothing but loopback is ever spoken to.
package hostiletest
