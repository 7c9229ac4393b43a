package health

import (
	"sync"
	"time"
)

// Tracker finds the series of servers by name. It is safe for concurrent use.
type Tracker struct {
	mu      sync.RWMutex
	series  map[seriesKey]*Series
	loads   map[string]*Load
	started time.Time
	heard   news // from other workers

	telling sync.Mutex // one tells at a time
}

type seriesKey struct{ server, capability string }

// NewTracker returns an empty tracker.
func NewTracker() *Tracker {
	return &Tracker{series: make(map[seriesKey]*Series), loads: make(map[string]*Load)}
}

// Series returns the series of a server doing a capability, and begins it at
// now when there is none. Servers of the first moment are no newcomers; later
// ones start slowly.
func (t *Tracker) Series(server, capability string, now time.Time) *Series {
	key := seriesKey{server, capability}
	t.mu.RLock()
	s := t.series[key]
	t.mu.RUnlock()
	if s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s = t.series[key]; s != nil {
		return s
	}
	if t.started.IsZero() {
		t.started = now
	}
	load, known := t.loads[server]
	if !known {
		load = new(Load)
		t.loads[server] = load
		if t.heard.by[server] != nil {
			t.heard.tell(load, server, t.started)
		}
	}
	var joined time.Time
	if !known && now.Sub(t.started) >= rampFor {
		joined = now
	}
	s = newSeries(load, t.started, joined)
	t.series[key] = s
	return s
}

// Keep forgets every server for which known returns false.
func (t *Tracker) Keep(known func(server string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.series {
		if !known(key.server) {
			delete(t.series, key)
		}
	}
	for server := range t.loads {
		if !known(server) {
			delete(t.loads, server)
		}
	}
}
