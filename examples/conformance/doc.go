// Command conformance runs the client scenarios of the protocol's two conformance
// suites against the junction program, and holds what comes out against
// expected.yaml.
//
//	go build -o .bin/junction ./cmd/junction
//	go run ./examples/conformance -junction .bin/junction
//
// A suite starts a server for each scenario and runs a command that is to use it.
// The command is this program again (`conformance client URL`): it runs junction
// with a workflow or a listing of servers, answers the questions that come up, and
// ends with junction's exit code. Nothing in it speaks the protocol.
//
// A scenario passes when the suite says so and has made at least one check: a suite
// that looked at nothing is no proof. Every outcome that is not the expected one
// fails the run, in either direction.
package main
