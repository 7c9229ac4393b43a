package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrMismatch is returned when a key comes again with another fingerprint.
	// Nothing was done (HTTP would say 422).
	ErrMismatch = errors.New("idempotency conflict: this key was used with other arguments; use a key of its own for each intent")
	// ErrInProgress is returned when a call with the key was still under way as the
	// caller's patience ended. It says nothing of that call's outcome (HTTP would
	// say 409).
	ErrInProgress = errors.New("in progress: a call with this key is under way; wait and ask again with the same key")
	// ErrUnknown is returned when nobody knows whether the key's effect happened.
	// The key stays closed until that is settled.
	ErrUnknown = errors.New("unknown outcome: nobody knows whether the effect of this key happened; find out at its place, then settle the key")
	// ErrNoKey is returned for a key that is empty, longer than MaxKey bytes or not
	// UTF-8.
	ErrNoKey = errors.New("no usable idempotency key")
	// ErrNotFound is returned by Find: the key was never seen, was freed by a
	// failure, or is kept no longer.
	ErrNotFound = errors.New("this ledger does not know the key")

	// ErrUnsure is what an effect wraps in its error when it cannot tell whether it
	// happened: the key stays closed instead of becoming free.
	ErrUnsure = errors.New("the effect may have happened")
	// ErrClaimLost is a store's word to an owner whose lease ended, and to the
	// context of an effect that it cancels.
	ErrClaimLost = errors.New("the claim of the key was lost")
	// ErrBusy is a store's word that somebody else held it for too long; nothing
	// was done.
	ErrBusy = errors.New("the ledger is busy")
	// ErrNested is returned for a call from inside an effect in a transaction to the
	// store of that transaction: it would wait for itself.
	ErrNested = errors.New("a ledger cannot be called from inside its own transaction")
)

// KeyError is one of the errors above about a key.
type KeyError struct {
	Key     string
	Receipt string    // of the execution in question, when it is known
	Since   time.Time // when the key was first claimed, when it is known
	Err     error     // matched by errors.Is
}

// Error is one line, for it is told to clients.
func (e *KeyError) Error() string {
	return fmt.Sprintf("key %q: %s", e.Key, strings.ReplaceAll(e.Err.Error(), "\n", "; "))
}

func (e *KeyError) Unwrap() error { return e.Err }

// RefusedError is how an effect says that it has changed nothing and never will
// under this key: its result is stored, and answered without an error. Of a run
// that is not the first (Run.Again) it is the word of the service that knows the
// key, about all of them.
type RefusedError struct{ Result any }

func (e *RefusedError) Error() string { return "the effect refused its key for good" }

func about(e Entry, err error) *KeyError {
	return &KeyError{Key: e.Key, Receipt: e.Receipt, Since: e.Claimed, Err: err}
}
