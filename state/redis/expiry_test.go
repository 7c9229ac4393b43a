package redis

import (
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// times maps each key of a thread that is there to its time to live; negative: it
// has none.
func (th *thread) times() map[string]time.Duration {
	th.t.Helper()
	out := map[string]time.Duration{}
	for _, key := range th.s.threadKeys(th.id) {
		left, err := th.s.client.PTTL(th.t.Context(), key).Result()
		must(th.t, err)
		if left != -2 { // there is no such key
			out[key] = left
		}
	}
	return out
}

// wantTimes checks that all keys of a thread, so many, have one time to live.
func (th *thread) wantTimes(n int, want time.Duration) {
	th.t.Helper()
	times := th.times()
	if len(times) != n {
		th.t.Errorf("the thread has %d keys, want %d: %v", len(times), n, times)
	}
	for key, left := range times {
		if left > want+2*time.Minute || left < want-2*time.Minute {
			th.t.Errorf("key %s has %v to live, want about %v", key, left, want)
		}
	}
}

func TestEveryKeyExpires(t *testing.T) {
	t.Parallel()
	const completed, stopped = 48 * time.Hour, 240 * time.Hour
	s := open(t, Options{Retention: state.Retention{Completed: completed, Stopped: stopped}})
	t.Run("created", func(t *testing.T) {
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: "bare"})
		must(t, err)
		(&thread{t: t, s: s, id: "bare"}).wantTimes(4, stopped)
	})
	t.Run("with something in every key", func(t *testing.T) {
		th := create(t, s)
		th.fill()
		th.wantTimes(8, stopped)
	})
	t.Run("keys that come with a later superstep", func(t *testing.T) {
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: "late"})
		must(t, err)
		th := take(t, s, "late")
		th.commit()
		th.fill()
		th.commit()
		th.fill()
		th.wantTimes(8, stopped)
	})
	t.Run("a blob of an answer", func(t *testing.T) {
		th := create(t, s)
		must(t, s.PutInterrupt(t.Context(), th.lease, 1, state.Interrupt{ID: "q", Value: raw(`1`)}, nil))
		must(t, s.Answer(t.Context(), th.id, map[string]jsonText{"q": large(state.LeafThreshold)}))
		th.wantTimes(6, stopped)
	})
	t.Run("completed", func(t *testing.T) {
		th := create(t, s)
		th.fill()
		th.commit(func(c *state.Commit) { c.Status = state.StatusCompleted })
		th.wantTimes(7, completed)
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("late")}))
		th.wantTimes(8, completed)
	})
	for _, status := range []state.Status{state.StatusFailed, state.StatusCancelled, state.StatusInterrupted} {
		t.Run(string(status), func(t *testing.T) {
			th := create(t, s)
			th.fill()
			must(t, s.SetStatus(t.Context(), th.lease, status, &state.Failure{Code: "x"}, nil))
			must(t, s.Release(t.Context(), th.lease))
			th.wantTimes(8, stopped)
		})
	}
	t.Run("deleted and made again", func(t *testing.T) {
		th := create(t, s)
		th.fill()
		must(t, s.Release(t.Context(), th.lease))
		must(t, s.DeleteThread(t.Context(), th.id))
		th.wantTimes(0, 0)
		_, err := s.CreateThread(t.Context(), state.NewThread{ID: th.id})
		must(t, err)
		again := take(t, s, th.id)
		again.fill()
		again.wantTimes(8, stopped)
	})
}

// TestExpiryFollowsEveryChange brings a thread near its end; each change moves
// the end of all its keys, also of those it does not touch.
func TestExpiryFollowsEveryChange(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for name, change := range map[string]func(t *testing.T, th *thread) error{
		"renewal": func(t *testing.T, th *thread) error { _, err := s.Renew(t.Context(), th.lease); return err },
		"release": func(t *testing.T, th *thread) error { return s.Release(t.Context(), th.lease) },
		"records": func(t *testing.T, th *thread) error { return s.PutRecords(t.Context(), th.lease, nil) },
		"writes": func(t *testing.T, th *thread) error {
			return s.PutWrites(t.Context(), th.lease, 1, state.TaskWrites{Task: "x"}, nil)
		},
		"interrupt": func(t *testing.T, th *thread) error {
			return s.PutInterrupt(t.Context(), th.lease, 1, state.Interrupt{ID: "x"}, nil)
		},
		"session": func(t *testing.T, th *thread) error {
			return s.PutSession(t.Context(), th.lease, state.Session{ID: "x"})
		},
		"blob": func(t *testing.T, th *thread) error {
			_, err := s.PutBlob(t.Context(), th.lease, []byte("x"))
			return err
		},
		"status": func(t *testing.T, th *thread) error {
			return s.SetStatus(t.Context(), th.lease, state.StatusRunning, nil, nil)
		},
		"answer": func(t *testing.T, th *thread) error {
			return s.Answer(t.Context(), th.id, map[string]jsonText{"q": raw(`1`)})
		},
		"cancel": func(t *testing.T, th *thread) error { return s.RequestCancel(t.Context(), th.id) },
		"acquire": func(t *testing.T, th *thread) error {
			th.free()
			_, err := s.Acquire(t.Context(), th.id, "w", time.Second)
			return err
		},
		"a reopening": func(t *testing.T, th *thread) error {
			th.free()
			must(t, s.client.HSet(t.Context(), th.key(keyThread), "status", "failed").Err())
			_, err := s.Reopen(t.Context(), th.id)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			th := create(t, s)
			th.fill()
			th.age(s.o.Retention.Stopped - 4*time.Hour)
			th.wantTimes(8, 4*time.Hour)
			must(t, change(t, th))
			th.wantTimes(8, s.o.Retention.Stopped)
		})
	}
	t.Run("not a change within the hour", func(t *testing.T) {
		th := create(t, s)
		th.fill()
		th.age(30 * time.Minute)
		th.commit()
		th.wantTimes(7, s.o.Retention.Stopped-30*time.Minute)
	})
}

// free ends whatever lease the thread has.
func (th *thread) free() {
	th.t.Helper()
	must(th.t, th.s.client.HSet(th.t.Context(), th.key(keyThread), "until", 0).Err())
}

// age brings the end of all the thread's keys nearer, as time would.
func (th *thread) age(by time.Duration) {
	th.t.Helper()
	ctx := th.t.Context()
	end, err := th.s.client.HGet(ctx, th.key(keyThread), "exp").Int64()
	must(th.t, err)
	at := time.UnixMicro(end).Add(-by)
	_, err = th.s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.HSet(ctx, th.key(keyThread), "exp", strconv.FormatInt(at.UnixMicro(), 10))
		for _, key := range th.s.threadKeys(th.id) {
			p.PExpireAt(ctx, key, at)
		}
		return nil
	})
	must(th.t, err)
}
