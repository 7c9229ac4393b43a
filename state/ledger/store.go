package ledger

import (
	"context"
	"encoding/json"
	"time"
)

// Entry is what a store knows of a key. One that is neither Done nor Live was
// left by an owner that died or did not know: whether its effect happened is
// unknown.
type Entry struct {
	Key         string
	Fingerprint string          // of what the key stands for
	Receipt     string          // made when the key was first claimed, and kept by every later owner
	Owner       string          // who claims it or committed it
	Claims      int             // 1, and one more for each owner that took over
	Executions  int             // committed executions: 0 or 1
	Done        bool            // the result is committed
	Live        bool            // claimed, and the owner's lease has not ended on the store's clock
	Result      json.RawMessage // canonical JSON; nil before Done
	Claimed     time.Time       // first, on the store's clock
	Until       time.Time       // end of the owner's lease; zero when Done
	Committed   time.Time       // zero before Done
}

// Claim asks for a key.
type Claim struct {
	Key, Fingerprint string
	Owner            string        // unique to this call; the same one asked twice is given the key twice
	Receipt          string        // used when the key is free
	Lease            time.Duration // from now, on the store's clock
	Keeps            time.Duration // how long the entry is kept; Forever: always
	TakeOver         bool          // also a claim with this fingerprint whose lease has ended
}

// Store keeps entries durably. Each method is one atomic operation that may be
// run twice, because its answer may be lost. Time is the store's. Every entry
// that is returned shares no memory with the store.
type Store interface {
	// Claim gives a free key to its owner, or says what stands in the way.
	Claim(ctx context.Context, c Claim) (e Entry, mine bool, err error)
	// Renew lengthens the owner's lease; ErrClaimLost: the key is not its any more.
	Renew(ctx context.Context, key, owner string, lease, keeps time.Duration) error
	// Commit stores result and counts the execution. From an owner that lost the
	// key it is ErrClaimLost, also when the entry has expired.
	Commit(ctx context.Context, key, owner string, result []byte, keeps time.Duration) error
	// Release frees the key, or, if unsure, ends the lease and leaves the claim. From
	// an owner that lost the key, or has committed, it changes nothing.
	Release(ctx context.Context, key, owner string, unsure bool) error
	// Find returns the entry of a key, or ErrNotFound.
	Find(ctx context.Context, key string) (Entry, error)
}

// Transactor is a store whose transactions can hold the effect as well.
type Transactor interface {
	Store
	// Transact runs run in one transaction with the claim of a free key, its
	// receipt, the count and the result that run returns; run finds the transaction
	// in its context. If run fails or panics, nothing is stored; with undo its result
	// is, and nothing that it wrote. If the key is not free, run is not called, and
	// ran is false. Where somebody else holds the store for too long the error is
	// ErrBusy, or that of ctx, and nothing was done.
	Transact(ctx context.Context, c Claim, run func(context.Context) (result []byte, undo bool, err error)) (e Entry, ran bool, err error)
}

// Forever keeps entries for as long as the store lives.
const Forever time.Duration = -1
