// Package static reads the servers file, junction.yaml: which MCP servers there
// are, how to reach them, what the operator declares of them, and where threads
// are kept.
//
//	store: sqlite:.junction/state.db
//	mcpServers:
//	  eslint:
//	    command: npx
//	    args: ["@eslint/mcp"]
//	    offers:
//	      - capability: code-review
//	        tool: lint-files
//	        attributes: {language: [javascript, typescript]}
//	        effect: safe
//	        with: {filePaths: ["${with.context.path}"]}
//	        result: {issues: "${result.structured}"}
//	capabilities:
//	  code-review:
//	    input:  {type: object, required: [code, language]}
//	    output: {type: object, required: [issues]}
//
// A file is taken whole or not at all: [Load] reports every fault it finds at
// once, each with its line, column and what to write instead, and returns no
// configuration beside them. JSON of the same shape loads as well.
//
// Environment variables expand in store, command, args, env, url and headers,
// and nowhere else. What they held is in no error and in no String: faults
// quote keys and variable names only.
//
// [Config.Discovery] follows the file while a program runs. Invariant: what it
// shows is always one version of the file that had no fault; a later version
// with faults is reported by Refresh and leaves the last good one in place,
// marked stale. Servers that did not change keep their identity over versions.
package static
