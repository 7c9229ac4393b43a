// Package inventory is an example of a tool that must not run twice: an MCP server
// that reserves stock once for each idempotency key, the workflow reserve.yaml that
// uses it through junction.yaml, and a client that decides on fresh figures.
// README.md tells how to run them, and what changes where the stock lives elsewhere.
package inventory
