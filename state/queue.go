package state

import (
	"context"
	"time"
)

// Claim is a worker's turn at a queued thread: until it is over, no other
// worker is given the thread.
type Claim struct {
	Thread string
	// Until is when the turn is over, on the store's clock in Unix µs. It also
	// identifies the turn: whoever moves the entry changes it.
	Until int64
}

// Queue holds the threads that some worker should advance: those that wait for
// one, and those that one is working on, whose turn is over unless it is
// extended. So a thread whose worker died comes up by itself.
//
// Delivery is at least once: a thread may be handed out while its worker still
// lives, and after it has ended. The lease decides who runs it, and the
// thread's status whether there is something to run. An entry may stand for a
// thread that does not exist (its creator died in between).
type Queue interface {
	// Enqueue makes a thread due after a time on the store's clock; an entry
	// that is there already is moved, whoever claimed it. One that is due at
	// once wakes a worker that waits.
	Enqueue(ctx context.Context, thread string, after time.Duration) error
	// Claim hands out up to n threads, each for a turn: first those that some worker
	// was given before and that are due again, however many others wait; then those
	// that have been due longest. next is how long until another entry is due, 0
	// when some are that n left out, and negative when there is none.
	Claim(ctx context.Context, n int, turn time.Duration) (claims []Claim, next time.Duration, err error)
	// Extend lengthens turns that are not over, counted from now, in one
	// operation. Those that were moved since are missing in what it returns.
	Extend(ctx context.Context, claims []Claim, turn time.Duration) ([]Claim, error)
	// Done takes a thread out of the queue, unless it was moved since: then it
	// was asked for again and stays.
	Done(ctx context.Context, c Claim) error
	// Defer makes a claimed thread due again after a time, unless it was moved: it
	// then goes before those that nobody has begun. One that is due at once wakes a
	// worker that waits.
	Defer(ctx context.Context, c Claim, after time.Duration) error
	// WaitQueued returns once a thread may be due: one was enqueued, or most has
	// passed. Of several that wait, one is woken for each.
	WaitQueued(ctx context.Context, most time.Duration) error
	// QueueLen counts the threads that are due now, and those in a turn or due
	// later.
	QueueLen(ctx context.Context) (due, later int, err error)
}

// CancelNotifier is a store that can tell at once of a cancel request. It is a
// hint that may be lost: CancelRequested is what counts.
type CancelNotifier interface {
	// NotifyCancel returns a channel that gets a value when somebody asks for
	// the thread's end, or when somebody may have without its being told. stop
	// ends the notification.
	NotifyCancel(thread string) (asked <-chan struct{}, stop func())
}
