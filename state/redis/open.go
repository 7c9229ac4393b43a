package redis

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	clientName  = "junction" // in CLIENT LIST
	connections = 128        // at most, per node: 64 callers at once, as many again that wait for a reply
	redirects   = 3          // of one call within a cluster that moves slots
	grace       = time.Second
)

// Open connects to the Redis at an address and checks, within a bounded time,
// that it can keep threads: it answers, lets the user in, is Redis 7 or later, a
// master, of the form the address says, and grants what the store needs.
//
//	redis://[USER:PASSWORD@]HOST[:PORT][/DB]           rediss:// with TLS
//	redis-cluster://[USER:PASSWORD@]HOST:PORT,HOST:PORT
//	redis-sentinel://[USER:PASSWORD@]HOST:PORT,HOST:PORT/MASTER[/DB]
//
// What is no letter or digit in a user or password is percent-encoded; an IPv6
// address stands in brackets. After a ? may follow, joined by &:
//
//	prefix=NAME                 begins every key
//	tls=true                    for a cluster and for sentinels
//	ca=FILE cert=FILE key=FILE  trusted authorities, our certificate (PEM)
//	server_name=NAME            as the server's certificate has it
//	password_file=FILE          one line
//	sentinel_user=NAME sentinel_password_file=FILE
//	keep=N                      newest checkpoints kept of each thread
//	timeout=5s retry=15s        of one try; of an operation while Redis is away (0: one try)
//
// Options win over the address, but for the password. Settings of the server by
// which threads may be lost are logged as warnings (see [Store.Unsafe]). No error
// holds a password. The client library's own log, of the whole process, is
// turned off: what went wrong is in the errors.
func Open(ctx context.Context, address string, o *Options) (*Store, error) {
	shown := Redact(address)
	t, err := parse(address)
	if err != nil {
		return nil, &AddressError{shown, err}
	}
	options, err := t.options(o)
	if err != nil {
		return nil, &AddressError{shown, err}
	}
	var calls flights
	client, err := t.client(&calls, options.Timeout)
	if err != nil {
		return nil, &AddressError{shown, err}
	}
	s := newStore(client, shown, options)
	s.tries.flights = &calls
	if err := s.check(ctx, t); err != nil {
		if closing := s.Close(); closing != nil {
			return nil, fmt.Errorf("%w; %w", err, closing)
		}
		return nil, err
	}
	if err := s.warn(ctx); err != nil {
		s.o.Log.WarnContext(ctx, "settings of Redis cannot be looked at", "address", shown, "error", err)
	}
	return s, nil
}

// options joins what the program and the address say with the defaults.
func (t *target) options(given *Options) (Options, error) {
	var o Options
	if given != nil {
		o = *given
	}
	if o.Prefix != "" {
		if err := checkPrefix(o.Prefix); err != nil {
			return o, fmt.Errorf("prefix: %w", err)
		}
	}
	o.Prefix = first(o.Prefix, t.prefix, DefaultPrefix)
	o.Timeout = first(o.Timeout, t.timeout, DefaultTimeout)
	o.Retry = first(o.Retry, t.retry, DefaultRetry)
	o.Keep = first(o.Keep, t.keep)
	t.password = first(t.password, o.Password)
	o.Password = "" // nobody needs it after this
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// first returns the first value that is set.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

// client makes the client; it connects when it is first used. It tries nothing
// again by itself: a lost reply must not run a script twice unseen. Its own
// timeouts lie above that of a try, whose context ends first.
func (t *target) client(calls *flights, timeout time.Duration) (goredis.UniversalClient, error) {
	config, err := t.tlsConfig()
	if err != nil {
		return nil, err
	}
	logging.Disable()
	// A call may have to connect to one node of a cluster after the other.
	calls.timed = t.form == cluster
	return goredis.NewUniversalClient(&goredis.UniversalOptions{
		Addrs:                    t.hosts,
		IsClusterMode:            t.form == cluster,
		MasterName:               t.master,
		DB:                       t.db,
		Username:                 t.user,
		Password:                 t.password,
		SentinelUsername:         t.watchUser,
		SentinelPassword:         t.watchPassword,
		Protocol:                 3,
		ClientName:               clientName,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   calls.dial(config, timeout),
		DialTimeout:              timeout,
		DialerRetries:            1,
		MaxRetries:               -1,
		MaxRedirects:             redirects,
		ContextTimeoutEnabled:    true,
		ReadTimeout:              timeout + grace,
		WriteTimeout:             timeout + grace,
		PoolTimeout:              timeout,
		PoolSize:                 connections,
	}), nil
}

// Address returns where the store is, for people: without user and password.
func (s *Store) Address() string { return s.address }

// Close ends notifications and connections and waits for what is under way,
// which fails. Leases and claims stay until they run out.
func (s *Store) Close() error {
	s.cancels.close()
	settled, first := s.tries.close()
	var err error
	if first {
		err = s.client.Close()
	}
	<-settled
	if err != nil {
		return fmt.Errorf("close store at %s: %w", s.address, err)
	}
	return nil
}
