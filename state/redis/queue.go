package redis

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

var _ state.Queue = (*Store)(nil)

// The queue is two sorted sets, with scores in µs of the server: what nobody has
// begun, by the time it is due, and what some worker was given, by the end of its
// turn or of its pause. That score identifies the claim: who acts on one compares it
// first. What was begun is handed out before anything else, so a thread whose worker
// died waits for no backlog.
var (
	enqueueScript = load("queue_enqueue.lua", false)
	claimScript   = load("queue_claim.lua", false)
	extendScript  = load("queue_extend.lua", false)
	doneScript    = load("queue_done.lua", false)
	deferScript   = load("queue_defer.lua", false)
	lenScript     = load("queue_len.lua", false)
)

// Enqueue implements [state.Queue].
func (s *Store) Enqueue(ctx context.Context, thread string, after time.Duration) error {
	if thread == "" {
		return errors.New("enqueue: the thread's id is empty")
	}
	_, _, err := s.eval(ctx, "enqueue thread "+thread, enqueueScript, s.queueKeys(), thread, micros(max(after, 0)))
	return err
}

// Claim implements [state.Queue].
func (s *Store) Claim(ctx context.Context, n int, turn time.Duration) (claims []state.Claim, next time.Duration, err error) {
	const what = "claim queued threads"
	if err := checkTurn(turn); err != nil {
		return nil, 0, err
	}
	keys := append(s.queueKeys(), s.replyKey())
	reply, _, err := s.eval(ctx, what, claimScript, keys, n, micros(turn), s.replyLife())
	if err != nil {
		return nil, 0, err
	}
	head, claims, err := readClaims(reply)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	µs, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	return claims, time.Duration(µs) * time.Microsecond, nil
}

// Extend implements [state.Queue].
func (s *Store) Extend(ctx context.Context, claims []state.Claim, turn time.Duration) ([]state.Claim, error) {
	if err := checkTurn(turn); err != nil {
		return nil, err
	}
	if len(claims) == 0 {
		return nil, nil
	}
	args := []any{micros(turn), s.replyLife()}
	for _, c := range claims {
		args = append(args, c.Thread, c.Until)
	}
	const what = "extend turns"
	reply, _, err := s.eval(ctx, what, extendScript, []string{s.begunKey(), s.replyKey()}, args...)
	if err != nil {
		return nil, err
	}
	_, held, err := readClaims(reply)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return held, nil
}

// Done implements [state.Queue].
func (s *Store) Done(ctx context.Context, c state.Claim) error {
	_, _, err := s.eval(ctx, "take thread "+c.Thread+" out of the queue", doneScript, []string{s.begunKey()}, c.Thread, c.Until)
	return err
}

// Defer implements [state.Queue].
func (s *Store) Defer(ctx context.Context, c state.Claim, after time.Duration) error {
	_, _, err := s.eval(ctx, "defer thread "+c.Thread, deferScript, []string{s.begunKey(), s.bellKey()}, c.Thread, c.Until, micros(max(after, 0)))
	return err
}

// QueueLen implements [state.Queue].
func (s *Store) QueueLen(ctx context.Context) (due, later int, err error) {
	const what = "count queued threads"
	reply, _, err := s.eval(ctx, what, lenScript, []string{s.dueKey(), s.begunKey()})
	if err != nil {
		return 0, 0, err
	}
	counts, ok := reply.([]any)
	if !ok || len(counts) != 2 {
		return 0, 0, fmt.Errorf("%s: unexpected reply %v", what, reply)
	}
	now, isNow := counts[0].(int64)
	then, isThen := counts[1].(int64)
	if !isNow || !isThen {
		return 0, 0, fmt.Errorf("%s: unexpected reply %v", what, reply)
	}
	return int(now), int(then), nil
}

// checkTurn refuses a turn that would be over before it begins.
func checkTurn(turn time.Duration) error {
	if turn < time.Millisecond {
		return fmt.Errorf("a turn of %v: it is 1ms at least", turn)
	}
	return nil
}

// replyKey is where a reply is kept that must be given again. It is used by one
// call and beside the queue.
func (s *Store) replyKey() string { return s.prefix + ":{queue}:reply:" + crand.Text() }

// replyLife is for how long, in µs: for as long as the call may be tried again.
func (s *Store) replyLife() int64 { return micros(max(s.o.Retry, 0) + 2*s.o.Timeout) }

// readClaims reads a list of a head and then thread and end of turn of each.
func readClaims(reply any) (head string, claims []state.Claim, err error) {
	list, ok := reply.([]any)
	if !ok || len(list)%2 != 1 {
		return "", nil, fmt.Errorf("unexpected reply %v", reply)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return "", nil, fmt.Errorf("unexpected reply %v", reply)
		}
	}
	for i := 1; i < len(texts); i += 2 {
		until, err := strconv.ParseInt(texts[i+1], 10, 64)
		if err != nil {
			return "", nil, fmt.Errorf("end of a turn: %w", err)
		}
		claims = append(claims, state.Claim{Thread: texts[i], Until: until})
	}
	return texts[0], claims, nil
}

// micros rounds up: what takes a time takes at least 1 µs.
func micros(d time.Duration) int64 {
	µs := d.Microseconds()
	if d > time.Duration(µs)*time.Microsecond {
		µs++
	}
	return µs
}

// shift bounds one blocking command, so that a connection that died unseen is
// noticed, and a waiter whose context ended leaves the line.
const shift = 4 * time.Second

// bellLife is for how long a wake-up that nobody waited for is kept; the scripts
// have the same.
const bellLife = time.Minute

// WaitQueued implements [state.Queue]. A wake-up whose reply was lost is lost
// with it: the entry is there, and whoever claims next gets it.
func (s *Store) WaitQueued(ctx context.Context, most time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	over := time.Now().Add(most)
	for {
		left := min(time.Until(over), shift, s.o.Timeout/2)
		if left <= 0 {
			return nil
		}
		woken, err := s.blockFor(ctx, left, time.Until(over))
		if woken {
			return nil
		}
		if err != nil {
			if ctx.Err() != nil {
				s.passOn(ctx)
			}
			return err
		}
	}
}

// blockFor waits for the bell, once. While Redis is away it tries again until
// most has passed, as if nothing had been enqueued.
func (s *Store) blockFor(ctx context.Context, left, most time.Duration) (woken bool, err error) {
	bell := s.bellKey()
	seconds := strconv.FormatFloat(max(left, time.Millisecond).Seconds(), 'f', 3, 64) // 0 is for ever
	err = s.tryWhile(ctx, "wait for queued threads", most, retryable, func(ctx context.Context, _ int) error {
		ctx, land := s.fly(ctx, left+grace) // not longer, whatever a try may take
		defer land()
		err := s.client.Do(ctx, "BLPOP", bell, seconds).Err()
		if isNil(err) {
			return nil
		}
		woken = err == nil
		return err
	})
	return woken, err
}

// passOn rings for somebody else: a waiter whose context has ended may have been
// woken just then. The caller does not wait for it, since the server may hang.
func (s *Store) passOn(ctx context.Context) {
	if !s.tries.begin() {
		return
	}
	go func() {
		defer s.tries.end()
		ctx, land := s.fly(context.WithoutCancel(ctx), s.o.Timeout)
		defer land()
		bell := s.bellKey()
		_, err := s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.LPush(ctx, bell, "1")
			p.PExpire(ctx, bell, bellLife)
			return nil
		})
		if err != nil {
			s.o.Log.Debug("a wake-up may be lost", "address", s.address, "error", fit(err))
		}
	}()
}
