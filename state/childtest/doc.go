// Package childtest has tests keep the programs that they start in hand: a child ends
// with the test, and one that was stopped stands still.
package childtest
