// Package codereview is an example of Junction at work: MCP servers that review
// code, and the workflow review.yaml that uses them through junction.yaml. The
// servers are in the packages below; README.md tells how to run them.
package codereview
