// Command conformance runs the protocol's two conformance suites against the junction
// program: as a client, with the suites' servers, and as what stands between the suites'
// clients and a server.
//
//	go build -o .bin/junction ./cmd/junction
//	go run ./examples/conformance -junction .bin/junction
//	go run ./examples/conformance servers -junction .bin/junction -server PROGRAM
//
// # Client scenarios
//
// A suite starts a server for each scenario and runs a command that is to use it. The
// command is this program again (`conformance client URL`): it runs junction with a
// workflow or a listing of servers, answers the questions that come up, and ends with
// junction's exit code. Nothing in it speaks the protocol.
//
// A scenario passes when the suite says so and has made at least one check: a suite
// that looked at nothing is no proof. Every outcome that is not the expected one
// (expected.yaml) fails the run, in either direction.
//
// # Server scenarios
//
// A suite is a client here, and speaks HTTP; junction proxy speaks standard streams.
// Package gateway is between the two. Each suite runs in four ways, and each check must
// come out as it does without junction:
//
//	alone    suite ── HTTP ── server
//	gateway  suite ── HTTP ── gateway ── stdio ── server
//	url      suite ── HTTP ── gateway ── stdio ── junction proxy --url ── HTTP ── server
//	command  suite ── HTTP ── gateway ── stdio ── junction proxy -- … ── stdio ── server
//
// What the way "gateway" changes is the gateway's, or the server's over standard
// streams. Differences are in expected-proxy.yaml with their reasons; any other fails
// the run, and so does an entry that does not apply.
package main
