// Package consultest runs a real Consul agent for tests: on free ports of
// 127.0.0.1, with nothing kept on disk, ended with the test.
//
//	agent := consultest.Start(t)
//	d, err := consul.New(consul.Options{Address: agent.Address()})
//
// The binary is the one that JUNCTION_CONSUL names, else .bin/consul-1.14.11 of
// the module, else consul on PATH. Without one a test fails; it skips under
// -short only.
//
// Invariant: when Start, Restart and Cont return, the agent has a leader and can
// be written to; when the test has ended, so has the agent, even where the test
// had stopped it.
package consultest
