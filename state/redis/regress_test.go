package redis

import (
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// dump remembers the thread's keys, as a replica or a backup does; what it
// returns puts them back.
func (th *thread) dump() (restore func()) {
	th.t.Helper()
	ctx, held := th.t.Context(), map[string]string{}
	for _, key := range th.s.threadKeys(th.id) {
		if data, err := th.s.client.Dump(ctx, key).Result(); err == nil {
			held[key] = data
		}
	}
	return func() {
		th.t.Helper()
		_, err := th.s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			for _, key := range th.s.threadKeys(th.id) {
				p.Del(ctx, key)
				if data, ok := held[key]; ok {
					p.Restore(ctx, key, time.Hour, data)
				}
			}
			return nil
		})
		must(th.t, err)
	}
}

// underLease are the operations of a worker that holds the thread.
func (th *thread) underLease() map[string]func() error {
	ctx, s, l := th.t.Context(), th.s, th.lease
	return map[string]func() error{
		"renew":     func() error { _, err := s.Renew(ctx, l); return err },
		"commit":    func() error { _, err := s.Commit(ctx, th.next()); return err },
		"records":   func() error { return s.PutRecords(ctx, l, []state.Record{th.record("late")}) },
		"writes":    func() error { return s.PutWrites(ctx, l, th.head, state.TaskWrites{Task: "late"}, nil) },
		"interrupt": func() error { return s.PutInterrupt(ctx, l, th.head, state.Interrupt{ID: "late"}, nil) },
		"status":    func() error { return s.SetStatus(ctx, l, state.StatusFailed, nil, nil) },
		"blob":      func() error { _, err := s.PutBlob(ctx, l, []byte("late")); return err },
		"session":   func() error { return s.PutSession(ctx, l, state.Session{ID: "late"}) },
	}
}

func TestStoreThatHasGoneBack(t *testing.T) {
	t.Parallel()
	refuses := func(t *testing.T, th *thread, want ...error) {
		t.Helper()
		before := contents(t, th)
		for name, op := range th.underLease() {
			t.Run(name, func(t *testing.T) { wantErr(t, op(), want...) })
		}
		equal(t, "contents", contents(t, th), before)
	}
	t.Run("behind a commit that it acknowledged", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		th.commit()
		restore := th.dump()
		th.commit()
		restore()
		refuses(t, th, state.ErrRegressed, state.ErrLeaseLost)
	})
	t.Run("behind the acquisition", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		restore := th.dump()
		th.free()
		th.lease = take(t, th.s, th.id).lease
		restore()
		refuses(t, th, state.ErrRegressed, state.ErrLeaseLost)
	})
	t.Run("behind the creation", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		must(t, th.s.client.Del(t.Context(), th.s.threadKeys(th.id)...).Err())
		refuses(t, th, state.ErrVanished, state.ErrLeaseLost)
	})
	t.Run("a thread made again after it is another", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		must(t, th.s.Release(t.Context(), th.lease))
		must(t, th.s.DeleteThread(t.Context(), th.id))
		_, err := th.s.CreateThread(t.Context(), state.NewThread{ID: th.id})
		must(t, err)
		refuses(t, th, state.ErrVanished, state.ErrLeaseLost)
	})
	t.Run("a head that nobody acknowledged is a conflict", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		c := th.next()
		c.Parent = 7
		_, err := th.s.Commit(t.Context(), c)
		wantErr(t, err, state.ErrConflict)
	})
	t.Run("the next worker's token is above one that was lost", func(t *testing.T) {
		th := create(t, open(t, Options{}))
		th.free()
		restore := th.dump()
		lost := take(t, th.s, th.id).lease
		restore()
		if next := take(t, th.s, th.id).lease; next.Token <= lost.Token {
			t.Errorf("token %d was given after %d", next.Token, lost.Token)
		}
	})
}

// contents is what the thread's keys hold, less the times to live.
func contents(t *testing.T, th *thread) (out []string) {
	t.Helper()
	for _, key := range keys(t, th.s) {
		data, err := th.s.client.Dump(t.Context(), key).Result()
		must(t, err)
		out = append(out, fmt.Sprintf("%s %x", key, data))
	}
	return out
}

// TestClockThatStepsBack sets what the server stored as if its clock had been an
// hour ahead then.
func TestClockThatStepsBack(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	ahead := func(t *testing.T) *thread {
		th := create(t, s)
		future := time.Now().Add(time.Hour).UnixMicro()
		must(t, s.client.HSet(t.Context(), th.key(keyThread), "created", future, "token", future+5, "until", future+time.Minute.Microseconds()).Err())
		th.lease.Token = future + 5
		return th
	}
	t.Run("a lease lasts its length from when somebody asks, not the step", func(t *testing.T) {
		th := ahead(t)
		var busy *state.BusyError
		for range 2 {
			_, err := s.Acquire(t.Context(), th.id, "other", time.Second)
			wantErr(t, err, state.ErrBusy)
			if errors.As(err, &busy) && busy.Remaining > time.Minute {
				t.Errorf("%v remain of a lease of a minute", busy.Remaining)
			}
		}
	})
	t.Run("the next token is above the last, and above the creation", func(t *testing.T) {
		th := ahead(t)
		th.free()
		next := take(t, s, th.id)
		if next.lease.Token <= th.lease.Token {
			t.Errorf("token %d after %d", next.lease.Token, th.lease.Token)
		}
		next.commit()

		th = ahead(t)
		must(t, s.client.HSet(t.Context(), th.key(keyThread), "token", 0, "until", 0).Err())
		take(t, s, th.id).commit()
	})
}
