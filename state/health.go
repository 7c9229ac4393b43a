package state

import (
	"context"
	"time"
)

// HealthSample is what one worker saw of one server doing one capability in one
// minute. A worker writes a minute again while it lasts: the newest stands.
type HealthSample struct {
	Server     string         `json:"server"`
	Capability string         `json:"capability,omitempty"`
	Worker     string         `json:"worker"`
	Minute     time.Time      `json:"minute"` // its beginning, on the worker's clock, UTC
	Calls      int            `json:"calls"`  // outcomes that say something of the server, probes apart
	Failures   int            `json:"failures,omitempty"`
	ToolErrors int            `json:"tool_errors,omitempty"`
	Codes      map[string]int `json:"codes,omitempty"` // failures by code
	P95        time.Duration  `json:"p95,omitempty"`   // ns, of the results of the last five minutes
	InFlight   int            `json:"in_flight,omitempty"`
	Score      float64        `json:"score"`             // by the score that is in force
	Ejected    bool           `json:"ejected,omitempty"` // at the end of what was seen
	Probe      string         `json:"probe,omitempty"`   // last probe: "ok", or what was wrong with it
}

// HealthStore keeps how servers fared, for at least a day, so that a failure can
// be explained afterwards. It needs no lease: samples decide nothing.
type HealthStore interface {
	// PutHealth stores samples, each in place of the one of the same server,
	// capability, worker and minute.
	PutHealth(ctx context.Context, samples []HealthSample) error
	// Health returns the samples of a server ("": of all) whose minute lies in
	// [from, to), oldest first, then by server, capability and worker.
	Health(ctx context.Context, server string, from, to time.Time) ([]HealthSample, error)
}

// Share is what one worker knows now of one server, for the others.
type Share struct {
	Server   string        `json:"server"`
	InFlight int           `json:"in_flight"`          // its calls there
	Ejected  time.Duration `json:"ejected,omitempty"`  // from now, ns; 0: not
	Failures int           `json:"failures,omitempty"` // in the last interval
	Calls    int           `json:"calls,omitempty"`    // in the last interval
}

// Shared is the shares of one worker as another reads them.
type Shared struct {
	Worker string
	Age    time.Duration // since they were stored, on the store's clock
	Others int           // workers there are besides the reader; where fewer came with this one, they are a sample
	Shares []Share
}

// What one Exchange moves is bounded, however large the fleet.
const (
	MostShares  = 256 // of one worker; more are refused
	MostSharers = 32  // workers whose shares come back; of more, a sample that changes
)

// ShareStore lets workers see each other's load. What it holds fades: a worker that
// stores no more is gone after the time it asked for.
type ShareStore interface {
	// Exchange stores a worker's shares in place of its earlier ones, for keep (1 ms
	// or more), and returns those of the others, by worker: one round trip. To have
	// none is a share, too: the worker is there.
	Exchange(ctx context.Context, worker string, shares []Share, keep time.Duration) ([]Shared, error)
}
