// Package schema checks values against JSON Schemas that come from strangers: a
// server says what its tools take and give, and every call is held to it.
//
// Nothing is fetched, a pattern that Go cannot read is left to whoever wrote it,
// and a check ends: a schema of a few lines can ask for 2³⁰ evaluations, so each
// one is counted against a budget that grows with the value, and the context is
// looked at in between.
//
// Invariant: a compiled schema is used by one check at a time, since the count is
// part of it; a [Schema] keeps as many as there were checks at once, up to a few.
package schema
