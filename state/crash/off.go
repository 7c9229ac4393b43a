//go:build !crashpoints || !unix

// Package crash marks the points of the journal and commit protocol at which a
// process may die. In ordinary builds a point costs nothing. Built with
// -tags crashpoints, a process kills itself (SIGKILL) at the point named by the
// environment variable JUNCTION_CRASH ("NAME" or "NAME:N" for the Nth passage,
// counted from the beginning of the trace file),
// and appends every point it passes to the file named by JUNCTION_CRASH_TRACE.
package crash

// Point marks a place where a process may die. Names are literals,
// "part.event", each used at one place only: a test finds them all in the
// source and fails when one is not covered.
func Point(string) {}
