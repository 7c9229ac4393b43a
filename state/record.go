package state

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Effect is what a call does to the world, as the operator declares it.
type Effect string

const (
	Safe        Effect = "safe"        // reads; may be repeated anywhere
	Conditional Effect = "conditional" // a mutation under a durable key
	Unsafe      Effect = "unsafe"      // a mutation that nothing protects; what is unsaid is unsafe
)

// CallStatus is the state of an attempt or of a hop.
type CallStatus string

const (
	CallOpen      CallStatus = "open"      // intent recorded, outcome not yet
	CallSuccess   CallStatus = "success"   // an answer; IsError tells a tool's own error
	CallTimeout   CallStatus = "timeout"   // idle or maximum
	CallError     CallStatus = "error"     // one of the codes
	CallRejected  CallStatus = "rejected"  // not sent: no candidate, saturated, budget
	CallCancelled CallStatus = "cancelled" // we cancelled
	CallWaiting   CallStatus = "waiting"   // the server asked for input; the hop goes on with the answers
)

// Execution says whether a failed attempt took effect.
type Execution string

const (
	NotExecuted Execution = "not_executed" // for certain
	Executed    Execution = "executed"
	Unknown     Execution = "unknown"
)

// Record is one attempt of a hop: its intent, then its outcome. Records are
// keyed by (Hop, Round, Attempt), so a repeated write is harmless.
type Record struct {
	Thread  string `json:"thread"`
	Seq     int64  `json:"seq"` // checkpoint the superstep started from
	Step    int    `json:"step"`
	Task    string `json:"task"`
	Node    string `json:"node"`
	Hop     string `json:"hop"`     // stable identity
	Name    string `json:"name"`    // the hop's number or name in its task
	Round   int    `json:"round"`   // from 1: a hop that failed as not executed opens a new one when its node runs again
	Attempt int    `json:"attempt"` // from 1 within a round; 0: nothing could be attempted

	Capability string          `json:"capability,omitempty"`
	Server     string          `json:"server,omitempty"`
	Service    string          `json:"service,omitempty"`  // name that instances of the server share, where it is not Server
	Endpoint   string          `json:"endpoint,omitempty"` // without credentials
	Tool       string          `json:"tool,omitempty"`
	Session    string          `json:"session,omitempty"` // handle of the session it was part of (Session.ID)
	Effect     Effect          `json:"effect,omitempty"`
	Key        string          `json:"key,omitempty"`    // idempotency key
	Ledger     string          `json:"ledger,omitempty"` // name of the ledger that knows the key
	Keeps      time.Duration   `json:"keeps,omitempty"`  // how long that ledger keeps keys (ns)
	Max        time.Duration   `json:"max,omitempty"`    // the attempt's maximum time (ns)
	InputHash  string          `json:"input_hash"`       // SHA-256, hex, of the canonical arguments of the hop
	OutputHash string          `json:"output_hash,omitempty"`
	Status     CallStatus      `json:"status"`
	Execution  Execution       `json:"execution,omitempty"` // of a failure
	Code       string          `json:"code,omitempty"`
	Message    string          `json:"message,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`    // the tool's own error
	Started    time.Time       `json:"started"`               // store's clock where the store stamps it, else the worker's
	Duration   time.Duration   `json:"duration,omitempty"`    // ns
	ServerTook time.Duration   `json:"server_took,omitempty"` // ns the server says it worked; 0: it did not say
	Remote     *RemoteTask     `json:"remote,omitempty"`      // the task that the server made of the call
	Input      *Input          `json:"input,omitempty"`       // what a waiting attempt's server asked for
	Decision   json.RawMessage `json:"decision,omitempty"`    // the routing decision (router.Decision)
	Result     json.RawMessage `json:"result,omitempty"`      // a final result, until the superstep commits
	Final      bool            `json:"final,omitempty"`       // the hop's round ended with this record
}

// RecordFilter selects call records; zero values select all.
type RecordFilter struct {
	Thread string
	Server string
	Since  time.Time
	Limit  int // 0: no limit
}

// RecordStore keeps call records.
type RecordStore interface {
	// PutRecords upserts records in one operation. A record with an outcome is
	// never replaced by one without.
	PutRecords(ctx context.Context, l Lease, records []Record) error
	// Records returns the selected records, oldest first.
	Records(ctx context.Context, f RecordFilter) ([]Record, error)
}

// Undecided reports an attempt that may have taken effect and of which nobody
// knows whether it did: its intent has no outcome, or its failure tells nothing.
func (r Record) Undecided() bool {
	if r.Effect == Safe || r.Final {
		return false
	}
	return r.Status == CallOpen || r.Status != CallSuccess && r.Status != CallRejected && r.Execution != NotExecuted
}

// SortRecords orders records by Hop, Round and Attempt.
func SortRecords(rs []Record) {
	slices.SortFunc(rs, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Hop, b.Hop), cmp.Compare(a.Round, b.Round), cmp.Compare(a.Attempt, b.Attempt))
	})
}
