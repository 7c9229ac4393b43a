// Package plot draws a report of the routing lab as one SVG image: what share of the
// requests the watched server got, how long calls took and how many failed, second by
// second, a line for each policy. It has no dependency: browsers, and converters such
// as rsvg-convert, show what it writes.
package plot
