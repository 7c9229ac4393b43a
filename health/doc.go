// Package health turns observations of calls into numbers: how well a server
// does what it claims, between 0 and 1, and why. It is arithmetic: it opens no
// connection, starts no goroutine and reads no clock. Every function that
// depends on time is given now.
//
// # What is kept
//
// A [Series] holds what was seen of one server doing one capability: averages
// that follow the last calls and decay with time ([Average]), counts and a
// latency histogram over the last five minutes, hours of the last day (both
// [Window]), consecutive failures ([Ejection]), the age of the server in the
// pool ([Ramp]) and a fall of its score ([Drift]). A [Tracker] finds the series
// by name. What other workers and outside sources say of a server stands beside its
// series, each with its own end ([Tracker.Hear], [Tracker.SetErrorRate]).
//
// # Invariants
//
//  1. Caller's faults and cancelled calls change nothing but the number in
//     flight: they say nothing about the server ([Ignored]).
//  2. Only successful results feed latency. A server that fails fast, or that
//     answers its own error fast, looks no quicker for it. That a call was given up
//     unanswered can only make a server slower ([Series.Outlasted]).
//  3. Nothing starves for ever: averages decay towards what the peers do, an
//     ejection ends, and where every server is ejected all are tried.
//  4. A series is written under a short mutex and read without one: [Series.Read]
//     loads immutable values, so a decision neither waits nor allocates.
//  5. What others tell is never told on, and counts for nothing once it is old: no
//     ejection keeps itself alive, and without news each worker knows its own.
package health
