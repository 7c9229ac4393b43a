// Package history keeps how servers fare, minute by minute, so that a failure can
// be explained afterwards: a [Recorder] watches a router's hops, counts their
// outcomes and writes one batch a minute to a [state.HealthStore].
//
//	rec := history.New(store, &history.Options{Worker: name, Readings: readings})
//	r := router.New(discovery, caller, &router.Options{Observer: rec})
//	…
//	err := rec.Close(ctx) // writes what is left
//
// # Invariants
//
//  1. A hop pays a short mutex and a map's look-up. All I/O, and the reading of the
//     servers' health, is the recorder's own goroutine's.
//  2. Everything is bounded: series, minutes that wait for a store that is away,
//     the time of a write. What is over the bound is dropped, the oldest minute
//     first, and said once.
//  3. A sample is written once its minute is over, and before that only when
//     somebody asks ([Recorder.Flush], [Recorder.Close]); then it is written again.
//     A server in order that had nothing to do gets no sample.
//  4. Samples decide nothing: an error of the store is logged once an outage, and
//     fails no hop.
package history
