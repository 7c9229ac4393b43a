// Package expr evaluates the ${} expressions of workflow files and of offers'
// mappings: bounded, deterministic, over values of package value.
package expr

// Template is a compiled value with ${} expressions in its strings. It is safe
// for concurrent use.
type Template struct{}
