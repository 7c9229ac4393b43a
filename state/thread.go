package state

import (
	"context"
	"encoding/json"
	"time"
)

// Status is where a thread stands.
type Status string

const (
	StatusPending     Status = "pending"     // created, never run
	StatusRunning     Status = "running"     // a worker advances it, or did when it died
	StatusInterrupted Status = "interrupted" // waits for answers
	StatusCompleted   Status = "completed"   // terminal
	StatusFailed      Status = "failed"      // can be resumed
	StatusCancelled   Status = "cancelled"   // can be resumed
)

// Stopped says whether a thread of this status goes on only when somebody wants
// it to.
func (s Status) Stopped() bool {
	return s == StatusInterrupted || s == StatusFailed || s == StatusCancelled
}

// HeedsCancel says whether a thread of this status becomes cancelled when it is
// released with a request to stop that its holder has not heeded.
func (s Status) HeedsCancel() bool {
	return s == StatusPending || s == StatusRunning || s == StatusInterrupted
}

// Failure is an error as a thread remembers it. It never holds a secret.
type Failure struct {
	Code    string `json:"code"`             // an MCP_… code or a local cause such as "no_candidate"
	Message string `json:"message"`          // for people, with what to try
	Node    string `json:"node,omitempty"`   // where it happened
	Server  string `json:"server,omitempty"` // whose answer it was
	Hop     string `json:"hop,omitempty"`    // the failing hop
}

// Thread is one durable run.
type Thread struct {
	ID         string            `json:"id"`
	Workflow   string            `json:"workflow"`             // the graph's name
	Version    string            `json:"version,omitempty"`    // the graph's version; checked on resume
	Definition string            `json:"definition,omitempty"` // blob hash of the workflow file's text
	Meta       map[string]string `json:"meta,omitempty"`       // free for the caller (paths, flags); no secrets
	Status     Status            `json:"status"`
	Failure    *Failure          `json:"failure,omitempty"`
	Head       int64             `json:"head"`              // Seq of the newest checkpoint
	Step       int               `json:"step"`              // superstep of the head
	Cancel     bool              `json:"cancel,omitempty"`  // asked to stop
	Waiting    int               `json:"waiting,omitempty"` // unanswered interrupts at the head
	Created    time.Time         `json:"created"`           // store's clock
	Updated    time.Time         `json:"updated"`
}

// ThreadFilter selects threads; zero values select all.
type ThreadFilter struct {
	Status   Status
	Workflow string
	Limit    int // 0: no limit
}

// NewThread is what a thread starts from: everything in it and its first
// checkpoint become visible together.
type NewThread struct {
	ID                            string // required, unique
	Workflow, Version, Definition string
	Meta                          map[string]string
	Lineage                       string // identity of this branch; goes into every hop's identity
	Set                           map[string]json.RawMessage
	Append                        map[string][]json.RawMessage
	Next                          []Task
	Blobs                         [][]byte // stored under their hashes (Hash), for example the definition
}

// Retention says which threads Prune deletes, by the time since they were last
// updated. Zero keeps for ever.
type Retention struct {
	Completed time.Duration // completed threads; default of the product: 7 days
	Stopped   time.Duration // failed, cancelled and interrupted ones: 30 days
}

// ThreadStore keeps threads.
type ThreadStore interface {
	// CreateThread stores a thread and its first checkpoint (Seq 1, Step 0,
	// Source "input"), or fails with ErrExists.
	CreateThread(ctx context.Context, t NewThread) (Thread, error)
	// Thread returns one thread or ErrNotFound.
	Thread(ctx context.Context, id string) (Thread, error)
	// Threads returns the selected threads, newest first.
	Threads(ctx context.Context, f ThreadFilter) ([]Thread, error)
	// DeleteThread removes a thread and everything that belongs to it; blobs no
	// other thread uses go too. ErrBusy while a live lease exists.
	DeleteThread(ctx context.Context, id string) error
	// RequestCancel asks whoever runs the thread to stop. It needs no lease.
	// A thread that nobody runs and that is not terminal becomes cancelled.
	RequestCancel(ctx context.Context, id string) error
	// CancelRequested is the cheap question a running worker asks often.
	CancelRequested(ctx context.Context, id string) (bool, error)
	// Reopen makes a stopped thread (interrupted, failed or cancelled) that nobody
	// runs pending, so that a worker takes it up, and clears Cancel and Failure.
	// It needs no lease. Any other thread stays as it is. It returns the thread
	// as it stands then.
	Reopen(ctx context.Context, id string) (Thread, error)
	// SetStatus records a stop without advancing the head: interrupted, failed,
	// cancelled, running when work begins again (which clears Failure), or pending
	// when it is left to a worker. The records ride in the same operation. It deals
	// with the request that the lease's acquisition cleared ([Lease].Cancelled). A
	// completed thread stays completed: a status that the network kept back, and
	// that was stored by another try long ago, takes nothing back.
	SetStatus(ctx context.Context, l Lease, s Status, f *Failure, records []Record) error
	// Prune deletes what retention says and returns how many threads went.
	// Threads with a live lease stay.
	Prune(ctx context.Context, r Retention) (int, error)
}

// Lease is the exclusive right to advance a thread.
type Lease struct {
	Thread string
	Token  int64 // fencing token: rises with every acquisition, survives the lease
	Owner  string
	TTL    time.Duration
	// Until is on this process's monotonic clock: the moment before the request
	// for the lease left, plus TTL, less a margin. After it nothing is sent.
	Until time.Time
	// Cancelled: this acquisition cleared a request to stop that no holder has
	// dealt with. Until a status is recorded under the lease (SetStatus) the next
	// acquisition says so too, so that a holder which dies loses no request. Acquire
	// alone sets it.
	Cancelled bool
}

// LeaseMargin is taken off a lease's end on the holder's own clock.
func LeaseMargin(ttl time.Duration) time.Duration { return ttl / 10 }

// LeaseStore grants leases on the store's own clock.
type LeaseStore interface {
	// Acquire takes a free or expired lease and clears Cancel, which was meant
	// for the holder before; Lease.Cancelled tells of it. A request that comes
	// later is never lost. Else it fails with *BusyError. A lease whose owner is
	// known to be dead (SQLite: pid, start time, boot id) is free.
	Acquire(ctx context.Context, thread, owner string, ttl time.Duration) (Lease, error)
	// Renew extends a lease that is still held, or fails with ErrLeaseLost.
	Renew(ctx context.Context, l Lease) (Lease, error)
	// Release ends a lease; one that is lost already is no error. A request to
	// stop that came under it and was not heeded makes a pending, running or
	// interrupted thread cancelled, in the same operation: nobody else is asked.
	Release(ctx context.Context, l Lease) error
}

// BlobStore keeps large values once, by hash.
type BlobStore interface {
	// PutBlob stores data for a thread and returns its Hash. A repeat is free.
	PutBlob(ctx context.Context, l Lease, data []byte) (string, error)
	// Blob returns what was stored, or ErrNotFound.
	Blob(ctx context.Context, thread, hash string) ([]byte, error)
}

// Session is what a thread remembers of its connection to a server. It holds
// no credential: ID is a handle of our own, never the wire's session id.
type Session struct {
	ID              string    `json:"id"`
	Server          string    `json:"server"`
	Endpoint        string    `json:"endpoint"`
	ProtocolVersion string    `json:"protocol_version"`
	Scheme          string    `json:"scheme,omitempty"` // authentication scheme, "" for none
	ContextHash     string    `json:"context_hash"`     // "sha256:…" over server, endpoint, version, scheme, capability fingerprint
	Opened          time.Time `json:"opened"`
	Expires         time.Time `json:"expires,omitzero"`
	Bound           string    `json:"bound,omitempty"` // of an entry that binds later hops: the handle they stay with, see [Journal.BindSession]
}

// SessionStore keeps sessions with their thread (channel mcp_sessions of R16).
type SessionStore interface {
	PutSession(ctx context.Context, l Lease, s Session) error
	Sessions(ctx context.Context, thread string) ([]Session, error) // by ID
}

// Store is what a backend offers.
type Store interface {
	ThreadStore
	LeaseStore
	CheckpointStore
	RecordStore
	BlobStore
	SessionStore
	// Close releases the backend's resources; it does not touch leases.
	Close() error
}
