package redis

import (
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// Defaults of Options.
const (
	DefaultTimeout = 5 * time.Second
	DefaultRetry   = 15 * time.Second
)

// Options configure a store; nil and zero values take the defaults.
type Options struct {
	Prefix    string          // of every key; "": what the address says, else DefaultPrefix
	Timeout   time.Duration   // of one try of one operation; 0: DefaultTimeout
	Retry     time.Duration   // how long an operation is tried again while Redis cannot be reached or refuses all work; 0: DefaultRetry, negative: not at all
	Retention state.Retention // time to live of a thread's keys after its last change; 0: 7 days completed, 30 days all others
	Keep      int             // newest checkpoints kept of each thread; 0: all
	Log       *slog.Logger    // warnings of the server's settings and of lost notices; nil: discarded
}

// Store keeps threads in Redis. It is safe for concurrent use.
type Store struct {
	client  goredis.UniversalClient
	address string // for people, without the password
	prefix  string
	o       Options
	heads   heads
	cancels cancels
}
