// Package workflow turns a workflow file into a [graph.Spec]. Everything that is
// wrong with a file is reported at once, each fault with its line, column and a
// suggestion, before anything runs.
//
//	w, err := workflow.Load("review.yaml") // document.Faults
//	g, err := graph.Compile(w.Spec(tools))
//	in, err := w.Input(map[string]any{"repo": "."})
//	res, err := g.Run(ctx, graph.RunOptions{Input: in, Definition: w.Text, …})
//
// A thread stores the file's text and is resumed with it, not with the file as
// it stands by then. The text's hash is the graph's version.
//
// # The file
//
//	workflow: code-review            # the name; required
//	description: what it is for
//	recursion_limit: 100             # supersteps; default 1,000
//	state:  …                        # the channels
//	nodes:  …                        # the work; required
//	edges:  …                        # the order; required
//
// It is YAML, at most 1 MiB, one document, with aliases but without merge keys.
// Unknown keys are faults everywhere. Lengths of time have a unit: 250ms, 10s.
//
// # State
//
//	state:
//	  repo:     string                                # short for {type: string}
//	  files:    {type: array, default: []}
//	  findings: {type: array, reduce: append}
//	  cost:     {type: number, reduce: sum, default: 0, description: in cents}
//
// A channel's name consists of letters, digits and _. Its type is string,
// number, integer, boolean, array, object or any (the default). Without reduce
// (or with reduce: last) a write replaces the value, and two writers in one
// superstep are an error. append adds the items of each written list; sum, max
// and min fold numbers; merge writes the keys of objects over each other. Writes
// of one superstep are folded in the order of the nodes' names, then of the
// items' places. A channel without a value is null. null may be written to
// every channel that is not reduced.
//
// # Expressions
//
// Text may hold ${…} in the language of package [junction/state/expr]. A text
// that is exactly one ${…} has the value's type. Channels are named directly;
// besides them
//
//	item, index         in a node with each: the item and its place, from 0
//	result              in the write of a call: what the hop gave
//	route               in the write of a route: {server, endpoint, session, tool}
//	answer              in the write of an ask
//	error               in on_error: {code, message, server, node}
//
// These names cannot be channels. What comes from servers and people is never
// evaluated.
//
// # Nodes
//
// A node has at most one of call, route and ask. One that has none only writes.
//
//	nodes:
//	  review:
//	    description: for people
//	    each: "${files}"             # one task per item, all in one superstep
//	    when: "${item.size < 9000}"  # false: the task does nothing and writes nothing
//	    call: …                      # or route, or ask
//	    write:   {findings: "${result.issues}"}
//	    replace: {findings: []}      # write past the reducer: begin the channel anew
//	    on_error: …
//	    retry:   {attempts: 3, delay: 500ms, cap: 128s}  # run the node again
//	    timeout: 2m                  # of one attempt of the node, its hop included
//	    pause: before                # or after: stop for a person, without a question
//
// each is evaluated once, when the node's turn comes, and stored. A node whose
// when is false counts as done: what follows it runs. write always writes, also
// an empty list. Names of nodes consist of letters, digits, _, . and -; start and
// end are the graph's borders.
//
// # Calls
//
//	call:
//	  capability: code-review        # the router chooses among those who offer it
//	  need:    {language: go}        # attributes that must match; null asks for nothing
//	  prefer:  {review_depth: deep}  # attributes that raise the score
//	  with:    {code: "${item.text}"}
//	  timeout: {idle: 10s, max: 60s} # of an attempt; timeout: 60s sets both
//	  retry:   {attempts: 4}         # tries in all, where the effect allows another
//	  session: thread                # keep this server for the thread; default shared
//	  name:    fetch                 # names the hop in its task; default: its number
//
// Or directly, server: NAME and tool: NAME with effect: safe, conditional or
// unsafe (the default), without need and prefer. server: NAME with capability
// asks for the capability at that server. All but timeout, retry, session and
// effect may hold expressions. A tool's own error fails the node with the code
// tool_error.
//
// # Routes
//
//	route: {capability: code-review, need: {language: go}}
//
// decides as a call would, with the same fields except with, effect, timeout and
// retry, and calls nobody. Without a write of its own it fills the channels
// selected_server, selected_server_endpoint and mcp_session_id, which need not
// be declared. A later call: {server: "${selected_server}", …} uses them.
//
// # Questions
//
//	ask:
//	  question: "Publish ${count(findings)} findings?"
//	  show:     "${findings}"        # what the question is about
//	  answer:   boolean              # a type, a list of answers, or a JSON Schema
//	  name:     publish              # names the question in its task
//	write: {approved: "${answer}"}
//
// The thread pauses until the answer is there, however long. The type of a
// channel to which exactly "${answer}" is written is asked for as well. An answer
// that does not fit is refused and the thread still waits.
//
// # Errors
//
// A node that fails for good fails the thread, unless it has
//
//	on_error: continue               # as if it had done nothing
//	on_error: repair                 # go to that node (or end) instead of its successors
//	on_error:                        # write, and go on, or to a node
//	  write: {log: ["${error.code}: ${error.message}"]}
//	  goto:  repair
//
// A handler runs once and is recorded; a resume does not run it again. It does not
// run while it is unknown whether a call of its node took effect. Of a node
// with each, every item has a handler of its own: where some items fail and lead
// elsewhere, the node's successors run beside it.
//
// # Edges
//
//	edges:
//	  - start -> diff -> review      # one after the other
//	  - review -> [report, notify]   # both, in one superstep
//	  - "[report, notify] -> gate"   # a join: gate runs once both have run
//	  - {from: gate, when: "${approved}", to: publish, else: end}
//	  - from: publish                # the first condition that holds
//	    choose:
//	      - {when: '${status == "busy"}', to: publish}
//	      - {when: '${status == "bad"}', to: [repair, notify]}
//	    else: end
//	  - {from: repair, goto: "${next}", to: [diff, end]}
//
// A chain may hold brackets anywhere: start -> [a, b] -> c fans out and joins.
// goto gives a name, or a list of names, out of those in to. Without else, a
// condition that does not hold leads nowhere; the thread is completed when
// nothing runs next. Every node must be reachable and lead on; an edge back is a
// loop, which recursion_limit ends.
package workflow
