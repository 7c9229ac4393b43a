package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

const oldest = 7 // major version of Redis

// probe does, without effect, one of each kind of thing that the store needs a
// permission for.
var probe = load("queue_probe.lua", false)

// check asks the server who it is and whether it lets us work. What passes by
// itself (it is loading, a failover is under way) is waited for; that nobody
// answers is said at once.
func (s *Store) check(ctx context.Context, t *target) error {
	const what = "open"
	passing := func(err error) bool { return answered(err) && retryable(err) }
	var who map[string]string
	var failure error
	err := s.tryWhile(ctx, what, s.o.Retry, passing, func(ctx context.Context, _ int) error {
		who, failure = s.hello(ctx)
		return failure
	})
	if err != nil && ctx.Err() == nil {
		if found := s.explain(ctx, t, failure); found != "" {
			return fmt.Errorf("open: Redis at %s: %w (%s)", s.address, fit(failure), found)
		}
	}
	if err != nil {
		return err
	}
	if err := t.fits(who); err != nil {
		return fmt.Errorf("open: Redis at %s %w", s.address, err)
	}
	// Of a cluster any node may have answered; its client finds the masters.
	if role := who["role"]; t.form != cluster && (role == "replica" || role == "slave") {
		return fmt.Errorf("open: Redis at %s is a read-only replica%s: give the master's address, or redis-sentinel://, which finds the master", s.address, s.masterOf(ctx))
	}
	return s.tryWhile(ctx, what, s.o.Retry, passing, func(ctx context.Context, _ int) error {
		if err := probe.Run(ctx, s.client, s.queueKeys()).Err(); err != nil {
			return err
		}
		// Nobody is called "": whoever listens takes no notice.
		return s.client.Publish(ctx, s.cancelChannel(), "").Err()
	})
}

// hello asks for the server's version, mode and role, which needs no permission.
// Of a cluster, one node stands for all.
func (s *Store) hello(ctx context.Context) (map[string]string, error) {
	reply, err := s.client.Do(ctx, "HELLO", "3").Result()
	if err != nil {
		return nil, err
	}
	fields, ok := reply.(map[any]any)
	if !ok {
		return nil, fmt.Errorf("HELLO gives %T", reply)
	}
	who := map[string]string{}
	for name, value := range fields {
		who[fmt.Sprint(name)] = fmt.Sprint(value)
	}
	return who, nil
}

// fits compares who answers with who was asked for.
func (t *target) fits(who map[string]string) error {
	version := who["version"]
	major, _, _ := strings.Cut(version, ".")
	switch n, err := strconv.Atoi(major); {
	case err != nil:
		return fmt.Errorf("calls itself version %q, which is none of Redis", version)
	case n < oldest:
		return fmt.Errorf("is version %s: Redis %d or later is needed", version, oldest)
	}
	switch mode := who["mode"]; {
	case mode == "sentinel":
		return errors.New("is a sentinel, which keeps nothing: write redis-sentinel://HOST:PORT,HOST:PORT/MASTER")
	case mode == "cluster" && t.form != cluster:
		return errors.New("is part of a cluster: write redis-cluster://HOST:PORT,HOST:PORT")
	case mode != "cluster" && t.form == cluster:
		return errors.New("is no cluster: write redis://HOST:PORT")
	}
	return nil
}

// masterOf says whose replica the server is, when it tells.
func (s *Store) masterOf(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	text, err := s.client.Info(ctx, "replication").Result()
	if err != nil {
		return ""
	}
	fields := infoFields(text)
	if fields["master_host"] == "" {
		return ""
	}
	return " of " + net.JoinHostPort(fields["master_host"], fields["master_port"])
}

// explain says what is at a port that does not speak as expected: a web server,
// or one that wants TLS. It is "" where the error needs no more words, since the
// server itself has answered or cannot be reached at all.
func (s *Store) explain(ctx context.Context, t *target, err error) string {
	var op *net.OpError
	if distrusted(err) || answered(err) || errors.Is(err, goredis.Nil) || (errors.As(err, &op) && op.Op == "dial") {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, min(s.o.Timeout, 2*grace))
	defer cancel()
	for _, host := range t.hosts {
		if what := sniff(ctx, host, t); what != "" {
			return host + " " + what
		}
	}
	return ""
}
