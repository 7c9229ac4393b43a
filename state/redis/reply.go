package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// reply is what a script of a thread returns: a word, and what belongs to it.
type reply []any

func asReply(v any) (reply, error) {
	r, ok := v.([]any)
	if !ok || len(r) == 0 {
		return nil, fmt.Errorf("%w: a script replied %T, not a list", state.ErrCorrupt, v)
	}
	return r, nil
}

func (r reply) word() string { return r.text(0) }

// text is an element that is text; "" where there is none.
func (r reply) text(i int) string {
	if i >= len(r) {
		return ""
	}
	s, _ := r[i].(string)
	return s
}

// number is an element that is a number; 0 where there is none.
func (r reply) number(i int) int64 {
	n, err := strconv.ParseInt(r.text(i), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// list is an element that is a list.
func (r reply) list(i int) reply {
	if i >= len(r) {
		return nil
	}
	l, _ := r[i].([]any)
	return l
}

// run runs a script of a thread. again reports that an earlier try may have
// taken effect.
func (s *Store) run(ctx context.Context, what, id string, script *goredis.Script, args []any) (r reply, again bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	v, again, err := s.eval(ctx, what, script, s.threadKeys(id), args...)
	if err != nil {
		return nil, again, err
	}
	r, err = asReply(v)
	if err == nil && r.word() == "corrupt" {
		err = fmt.Errorf("%s: %w: %s cannot be read", what, state.ErrCorrupt, r.text(1))
	}
	return r, again, err
}

// held runs a script under a lease. Its arguments begin with those of leased.
func (s *Store) held(ctx context.Context, what string, l state.Lease, script *goredis.Script, args []any) (reply, error) {
	r, _, err := s.run(ctx, what, l.Thread, script, args)
	if err != nil {
		return nil, err
	}
	return r, s.refusal(l, r)
}

// retained begins the arguments of a script that writes, with room for more.
func (s *Store) retained(more int) []any {
	return append(make([]any, 0, 4+more), s.o.Retention.Completed.Microseconds(), s.o.Retention.Stopped.Microseconds())
}

// leased begins the arguments of a script under a lease, with room for more.
func (s *Store) leased(l state.Lease, more int) []any {
	return append(s.retained(2+more), l.Token, s.heads.newest(l))
}

// refusal turns the replies that say a lease does not stand, or that the head is
// another, into errors; nil for any other reply.
func (s *Store) refusal(l state.Lease, r reply) error {
	switch r.word() {
	case "gone":
		return state.Vanished(l)
	case "taken":
		return state.LostLease(l, "another worker has taken the thread since")
	case "released":
		return state.LostLease(l, "it was released")
	case "ended":
		return state.LostLease(l, "it ran out")
	case "back":
		if r.text(1) == "token" {
			return state.Regressed(l, fmt.Sprintf("the newest lease in %s has token %d", s.address, r.number(2)))
		}
		return state.Regressed(l, fmt.Sprintf("its head in %s is %d, and %d was acknowledged", s.address, r.number(2), s.heads.newest(l)))
	case "head":
		return fmt.Errorf("thread %s: %w: its head is %s, not the one the operation follows", l.Thread, state.ErrConflict, r.text(1))
	}
	return nil
}

// busy is the error for a live lease: the reply is busy, owner, µs.
func busy(id string, r reply) error {
	return &state.BusyError{Thread: id, Owner: r.text(1), Remaining: time.Duration(r.number(2)) * time.Microsecond}
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, state.ErrNotFound) }

// blameThread adds to an error about a key of the wrong type what the thread's keys
// are. The scripts' errors have that already.
func (s *Store) blameThread(ctx context.Context, id string, err error) error {
	if !errors.Is(err, state.ErrCorrupt) {
		return err
	}
	return s.blame(ctx, err, s.threadKeys(id))
}

// threadError says at which thread of a page a command failed.
type threadError struct {
	id  string
	err error
}

func (e *threadError) Error() string { return "thread " + e.id + ": " + e.err.Error() }
func (e *threadError) Unwrap() error { return e.err }

// blamePage is blameThread for commands on many threads.
func (s *Store) blamePage(ctx context.Context, err error) error {
	if at := (*threadError)(nil); errors.As(err, &at) {
		return s.blameThread(ctx, at.id, err)
	}
	return err
}

// unixMicro is a time of the store's, in UTC.
func unixMicro(us int64) time.Time { return time.UnixMicro(us).UTC() }
