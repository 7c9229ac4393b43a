// Package gateway lets clients that speak HTTP use a server that speaks over its
// standard streams. The conformance suites are such clients.
//
// It moves messages and reads no more of them than it needs for that. With sessions
// (up to 2025-11-25) each session is a process of its own; without (2026-07-28) one
// process serves all clients. Several clients choose the same ids, so requests,
// progress tokens and subscriptions have ids of the gateway's towards the process, and
// the client's own towards the client. Everything else passes as it is.
//
// What HTTP itself demands is the gateway's own: hosts, sessions, status codes, and
// headers that repeat the body. Streams that are taken up again it does not have.
//
//	of the process                        goes to
//	an answer                             the request's stream
//	progress, by its token                the request's stream
//	a notification of a subscription      the subscription's stream
//	changes of lists and resources        the GET stream
//	anything else (a question, a log      the newest request that is open and has
//	message)                              somebody who reads, else the GET stream
package gateway
