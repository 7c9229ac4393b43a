package redis

import (
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// Defaults of Options.
const (
	DefaultTimeout   = 5 * time.Second
	DefaultRetry     = 15 * time.Second
	DefaultCompleted = 7 * 24 * time.Hour
	DefaultStopped   = 30 * 24 * time.Hour
)

// Options configure a store; nil and zero values take the defaults.
type Options struct {
	Prefix    string          // of every key; "": what the address says, else DefaultPrefix
	Password  string          // of the user that the address names, where the address has none itself
	Timeout   time.Duration   // of one try of one operation; 0: DefaultTimeout
	Retry     time.Duration   // how long an operation is tried again while Redis cannot be reached or refuses all work; 0: DefaultRetry, negative: not at all
	Retention state.Retention // time to live of a thread's keys after its last change; 0: 7 days completed, 30 days all others
	Keep      int             // newest checkpoints kept of each thread; 0: all
	Log       *slog.Logger    // warnings of the server's settings and of lost notices; nil: discarded
}

// Store keeps threads in Redis. It is safe for concurrent use.
type Store struct {
	client   goredis.UniversalClient
	address  string // for people, without the password
	prefix   string
	o        Options
	heads    heads
	cancels  cancels
	tries    tries
	siblings siblings
}

var _ state.Store = (*Store)(nil)

// newStore is a store on a client, which it closes.
func newStore(client goredis.UniversalClient, address string, o Options) *Store {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Retry == 0 {
		o.Retry = DefaultRetry
	}
	if o.Retention.Completed <= 0 {
		o.Retention.Completed = DefaultCompleted
	}
	if o.Retention.Stopped <= 0 {
		o.Retention.Stopped = DefaultStopped
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{client: client, address: address, prefix: o.Prefix, o: o}
}
