// Package consul finds MCP servers in Consul, and lets servers written in Go
// register themselves: [Register].
//
//	d, err := consul.New(consul.Options{Address: "http://127.0.0.1:8500"})
//	if err != nil {
//		return err
//	}
//	defer d.Close()
//	r := router.New(d, caller, nil)
//
// # What an instance says
//
// Each service with the tag mcp is followed. An instance is a [router.Server]:
// its ID the service's id (ID@NODE where several nodes use the same one, for all
// but the one that registered first), its Name the service's name, its URL made of the
// service's address, else the node's, and of Meta.
//
//	tags  mcp                        it is an MCP server
//	      code-review                a capability
//	      language=go language=rust  an attribute of each offer
//	meta  mcp-path=/mcp              where; mcp-scheme=https
//	      mcp-tool-code-review=lint  the tool of that capability
//	      mcp-max-concurrent=20      and mcp-latency-p95-ms=800, mcp-depth=deep
//	      review_depth=deep          an attribute of each offer
//
// vocabulary.go lists every key. A capability without a tool is bound by the
// router: to the tools that the server itself declares for it, else to the tool
// of its name. Effects, keys and ledgers count only with [Options.Trust]. What an
// operator says of a service in [Options.Services] wins over all of it; of his
// offers an attribute that he does not name is still the instance's to say.
//
// An instance with a critical check gets nothing, its node's checks and
// maintenance included; a warning one gets the share of its warning weight, a
// passing one that of its passing weight.
//
// # What it asks of Consul
//
// One question for the catalogue and one for each service wait for changes, a
// minute at a time. An agent takes 200 connections from one address, so of more
// than 64 services those questions take turns of half a second: a change is then
// seen after services ÷ 128 seconds at the latest. Answers are taken eight in a
// row and then five in a second, and so are fresh looks, of many services fewer. The token needs service:read and node:read.
//
// # Invariants
//
//  1. A Snapshot takes no lock, and is one state of what was last believed. A
//     server that did not change keeps its pointer from one to the next.
//  2. An error is never an empty answer. While Consul cannot be read, what was
//     known stays, marked stale.
//  3. That the last instance of a service is gone is believed only from a
//     consistent read, of which nothing was hidden from the token, and not soon
//     after an index went back: a weak token and a catalogue that lost its data
//     both look like an empty one.
//  4. Each service is followed by one goroutine, which alone decides what is
//     believed of it, so that answers never overtake each other.
package consul
