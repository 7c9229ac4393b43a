package state

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// HealthKept is how long a store keeps health samples at least: a day, and what
	// an hour's clock skew takes off it.
	HealthKept = 25 * time.Hour
	// MostHealth is how many samples a store keeps of one server in ten minutes, and
	// ten times as many over all servers a process keeps in memory; of more, those
	// that come last are dropped, since they decide nothing.
	MostHealth = 5000
)

// Clone returns a copy that shares nothing with s.
func (s HealthSample) Clone() HealthSample {
	s.Codes = maps.Clone(s.Codes)
	return s
}

// SortHealth orders samples by minute, server, capability and worker.
func SortHealth(samples []HealthSample) {
	slices.SortFunc(samples, func(a, b HealthSample) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Server, b.Server),
			cmp.Compare(a.Capability, b.Capability), cmp.Compare(a.Worker, b.Worker))
	})
}
