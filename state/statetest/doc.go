// Package statetest is the contract every backend of package state passes.
//
// [Run] checks it theme by theme, then lets a random sequence of operations run
// against the backend and against package memory side by side, and checks the
// history of a contended lease for mutual exclusion. The store that open
// returns needs a namespace of its own; nothing is ever flushed, and several
// tests may use one server at a time.
package statetest
