package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// replies are the errors by which a server refuses, by how they begin: whether
// trying again can help, and what to do about it.
var replies = []struct {
	begins string
	again  bool
	advice string
}{
	{"LOADING", true, "it is still reading its data from disk: wait until it has"},
	{"READONLY", true, "it is a read-only replica: give the master's address, or redis-sentinel://, which finds the master"},
	{"MASTERDOWN", true, "its link to the master is down: see INFO replication there"},
	{"CLUSTERDOWN", true, "the cluster does not serve all slots: see CLUSTER INFO and CLUSTER NODES"},
	{"TRYAGAIN", true, "the cluster is moving slots: try again when it has"},
	{"UNBLOCKED", true, "it has become a replica: look who is master now"},
	{"OOM", true, "its memory is full: raise maxmemory or free some, and keep maxmemory-policy at noeviction"},
	{"MISCONF", true, "it cannot write to its disk: see its log, free space there or correct its permissions"},
	{"NOREPLICAS", true, "fewer replicas follow than min-replicas-to-write asks for: bring them back"},
	{"ERR max number of clients", true, "it has too many clients: raise maxclients, or end some"},

	{"NOAUTH", false, "it wants a password: write USER:PASSWORD@ before the host, or password_file=FILE"},
	{"WRONGPASS", false, "user or password is wrong: correct USER:PASSWORD@ or password_file"},
	{"NOPERM", false, permissions},
	{"ERR The user executing the script", false, permissions},
	{"BUSY", false, "a script of somebody else has been running for long: see its log; SCRIPT KILL ends one that has written nothing"},
	{"WRONGTYPE", false, "something else has written to our keys: take another prefix, or remove what does not belong"},
	{"MOVED", true, "the cluster is moving slots: try again when it has"}, // more often than one call follows
	{"ASK", true, "the cluster is moving slots: try again when it has"},
	{"CROSSSLOT", false, "it is part of a cluster: write redis-cluster://"},
	{"ERR This instance has cluster support disabled", false, "it is no cluster: write redis://"},
	{"ERR DB index is out of range", false, "it has fewer databases: correct the number after the host, or raise databases"},
	{"ERR SELECT is not allowed", false, "a cluster has no databases: write redis-cluster:// without a number"},
	{"ERR unknown command 'sentinel'", false, "it is no sentinel: write redis://, or give the sentinels' ports"},
	{"ERR unknown command", false, "Redis 7 or later is needed, with no command of ours renamed"},
}

const permissions = "the user lacks a permission: `ACL SETUSER USER ~PREFIX:* &PREFIX:cancel +@all -@admin -@dangerous +info` grants all that is needed"

// judge looks a server's refusal up.
func judge(err error) (again bool, advice string) {
	text := replyText(err)
	if text == "" {
		return false, ""
	}
	for _, r := range replies {
		if strings.HasPrefix(text, r.begins) {
			return r.again, r.advice
		}
	}
	return false, ""
}

// replyText returns what the server answered, "" when it is no answer.
func replyText(err error) string {
	var reply goredis.Error
	if errors.As(err, &reply) && !errors.Is(err, goredis.Nil) {
		return reply.Error()
	}
	return ""
}

// answered says whether the server has decided, in contrast to a connection that
// failed.
func answered(err error) bool { return isNil(err) || replyText(err) != "" }

// isNil says whether the answer has no value. Wrapped, the same error stands for
// sentinels that do not know the master.
func isNil(err error) bool { return err == goredis.Nil }

// retryable says whether the operation may succeed when it is tried again: the
// server could not be reached, or refuses all work for now.
func retryable(err error) bool {
	if answered(err) {
		again, _ := judge(err)
		return again
	}
	return !errors.Is(err, os.ErrClosed) && !errors.Is(err, goredis.ErrClosed) && !distrusted(err)
}

// distrusted says whether a TLS handshake failed for a reason that stays.
func distrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &header) || alerted(err)
}

// alerted says whether the server refused our part of a TLS handshake.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// refused is the error of an operation that is not tried again.
func (s *Store) refused(what string, err error) error {
	switch {
	case isNil(err):
		return err // an answer without a value; callers compare with it
	case errors.Is(err, os.ErrClosed), errors.Is(err, goredis.ErrClosed):
		return fmt.Errorf("%s: store at %s: %w", what, s.address, os.ErrClosed)
	case strings.HasPrefix(replyText(err), "WRONGTYPE"):
		err = fmt.Errorf("%w: %w", state.ErrCorrupt, fit(err))
	default:
		err = fit(err)
	}
	return fmt.Errorf("%s: Redis at %s: %w%s", what, s.address, err, s.advise(err))
}

// unavailable is the error of an operation that was tried for as long as it may.
func (s *Store) unavailable(what string, err error, attempts int, took time.Duration) error {
	return fmt.Errorf("%s: Redis at %s: %w after %d tries in %v: %w%s",
		what, s.address, state.ErrUnavailable, attempts, took.Round(time.Millisecond), fit(err), s.advise(err))
}

// advise says what to do, as the end of a message.
func (s *Store) advise(err error) string {
	if advice := advice(err); advice != "" {
		return " (" + strings.ReplaceAll(advice, "PREFIX", s.prefix) + ")"
	}
	return ""
}

func advice(err error) string {
	if _, advice := judge(err); advice != "" {
		return advice
	}
	var host *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	switch {
	case answered(err):
		return ""
	case errors.As(err, &host):
		return "nobody knows this host: correct its name"
	case errors.As(err, &certificate):
		return "the server's certificate is not trusted: give ca=FILE, or server_name=NAME as it stands there"
	case errors.As(err, &header):
		return "it speaks no TLS: write redis:// or leave tls out, or give its TLS port"
	case alerted(err):
		return "the server refuses our part of TLS: give cert=FILE and key=FILE of an authority that it trusts"
	case errors.Is(err, goredis.Nil):
		return "the sentinels know no master of this name: correct it, after their hosts"
	case errors.As(err, &op) && op.Op == "dial":
		return "nothing can be reached there: is Redis running, and are host and port right?"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "it does not answer in time: see its load and the network, or raise timeout"
	case errors.Is(err, goredis.ErrPoolTimeout):
		return "all connections of this process are in use: run fewer threads at once"
	}
	return "the connection failed: see the server's log and the network"
}

// blame adds to an error about a key of the wrong type what the keys are, since
// the server does not say which it was.
func (s *Store) blame(ctx context.Context, err error, keys []string) error {
	kinds := make([]string, 0, len(keys))
	for _, key := range keys {
		kind, typeErr := s.client.Type(ctx, key).Result()
		if typeErr != nil {
			return fmt.Errorf("%w; keys %s", err, strings.Join(keys, ", "))
		}
		if kind != "none" {
			kinds = append(kinds, key+" is a "+kind)
		}
	}
	return fmt.Errorf("%w; %s", err, strings.Join(kinds, ", "))
}

// timedOut says whether nothing came in time, on a connection that may stand.
func timedOut(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
