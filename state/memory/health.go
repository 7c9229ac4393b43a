package memory

import (
	"context"
	"sync"
	"time"

	"junction/state"
)

// samples is the health of servers, minute by minute.
type samples struct {
	mu sync.Mutex
	by map[sampleKey]state.HealthSample
}

type sampleKey struct {
	server, capability, worker string
	minute                     int64 // Unix s
}

const mostSamples = 10 * state.MostHealth

var _ state.HealthStore = (*Store)(nil)

// PutHealth stores samples and forgets those that were kept long enough.
func (s *Store) PutHealth(ctx context.Context, all []state.HealthSample) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	kept := s.now().Add(-state.HealthKept).Unix()
	h := &s.samples
	h.mu.Lock()
	defer h.mu.Unlock()
	for key := range h.by {
		if key.minute < kept {
			delete(h.by, key)
		}
	}
	if h.by == nil {
		h.by = make(map[sampleKey]state.HealthSample)
	}
	for _, sample := range all {
		key := sampleKey{sample.Server, sample.Capability, sample.Worker, sample.Minute.Unix()}
		if _, there := h.by[key]; !there && len(h.by) >= mostSamples {
			continue
		}
		sample = sample.Clone()
		sample.Minute = sample.Minute.UTC()
		h.by[key] = sample
	}
	return nil
}

// Health returns a server's samples, or everybody's, of minutes in [from, to).
func (s *Store) Health(ctx context.Context, server string, from, to time.Time) ([]state.HealthSample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []state.HealthSample
	h := &s.samples
	h.mu.Lock()
	for _, sample := range h.by {
		if (server == "" || sample.Server == server) && !sample.Minute.Before(from) && sample.Minute.Before(to) {
			out = append(out, sample.Clone())
		}
	}
	h.mu.Unlock()
	state.SortHealth(out)
	return out, nil
}
