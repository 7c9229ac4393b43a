// Package redistest runs real Redis servers for tests: one server, a cluster, a
// Sentinel set, and a proxy that loses replies, cuts and stalls connections.
//
// # Invariants
//
//  1. Everything listens on 127.0.0.1, on ports that were free, and ends with
//     the test that started it; on Linux also when the test process is killed.
//  2. A server is handed out only when it serves, and it is the one that was
//     started, not another that took the port.
//  3. A missing redis-server fails the test, unless -short: then it is skipped.
//     The program is $JUNCTION_REDIS_SERVER, or redis-server on PATH, or in .bin
//     at the module's root.
//  4. What takes seconds (a cluster, a failover) asks [Long] first, which skips
//     unless JUNCTION_LONG=1 is set.
//
// A package whose tests share one server starts with
//
//	func TestMain(m *testing.M) { os.Exit(redistest.Wrap(m).Run()) }
//
// or goleak.VerifyTestMain(redistest.Wrap(m)). Tests that share a server keep
// apart by the prefix of their keys and never flush.
package redistest
