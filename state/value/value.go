// Package value is the data model of channels, arguments and results: JSON with
// exact numbers. A value is nil, bool, string, int64, float64, []any or
// map[string]any; integers beyond 2⁵³ survive, a float64 stands only where it
// is exact, and time is RFC 3339 text.
package value
