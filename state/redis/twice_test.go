package redis

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
	"junction/state/redis/redistest"
	"junction/state/statetest"
)

// lost makes the store lose the reply to the next call of a script, once it ran;
// between, if any, happens before the call is made again.
func lost(t *testing.T, s *Store, script *goredis.Script, between func()) {
	t.Helper()
	must(t, script.Load(t.Context(), s.client).Err())
	var done atomic.Bool
	s.client.AddHook(hook{script: func(_ context.Context, cmd goredis.Cmder, call func() error) error {
		if !calls(cmd, script) || !done.CompareAndSwap(false, true) {
			return call()
		}
		if err := call(); err != nil {
			return err
		}
		if between != nil {
			between()
		}
		return io.ErrUnexpectedEOF
	}})
	t.Cleanup(func() {
		if !done.Load() {
			t.Error("the script was not called")
		}
	})
}

// TestStoreWhoseScriptsRunTwice runs every script of the contract suite twice and
// hands out the second reply. Where it matters that it is the second (the script
// that deletes), the first is lost.
func TestStoreWhoseScriptsRunTwice(t *testing.T) {
	statetest.Run(t, func(t *testing.T) state.Store {
		s := open(t, Options{})
		must(t, deleteScript.Load(t.Context(), s.client).Err())
		var deletes atomic.Int64
		s.client.AddHook(hook{script: func(_ context.Context, cmd goredis.Cmder, call func() error) error {
			err := call()
			if calls(cmd, deleteScript) && err == nil && deletes.Add(1)%2 == 1 {
				return io.ErrUnexpectedEOF
			}
			if goredis.HasErrorPrefix(err, "NOSCRIPT") || calls(cmd, deleteScript) {
				return err
			}
			return call()
		}})
		return s
	})
}

func TestLostReply(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("a creation finds the thread it made, though another has taken it since", func(t *testing.T) {
		t.Parallel()
		s, other := open(t, Options{}), open(t, Options{})
		other.prefix = s.prefix
		lost(t, s, createScript, func() { take(t, other, "thread").commit() })
		th, err := s.CreateThread(ctx, state.NewThread{ID: "thread"})
		must(t, err)
		equal(t, "head when created", th.Head, int64(1))
		_, err = other.CreateThread(ctx, state.NewThread{ID: "thread"})
		wantErr(t, err, state.ErrExists)
	})
	t.Run("an acquisition has its token, and a request to stop that came in between stays", func(t *testing.T) {
		t.Parallel()
		s, other := open(t, Options{}), open(t, Options{})
		other.prefix = s.prefix
		id := create(t, other).id
		must(t, other.client.HSet(ctx, s.threadKeys(id)[keyThread], "until", 0).Err())
		var first string
		lost(t, s, acquireScript, func() {
			first = s.client.HGet(ctx, s.threadKeys(id)[keyThread], "token").Val()
			must(t, other.RequestCancel(ctx, id))
		})
		l, err := s.Acquire(ctx, id, "worker", time.Minute)
		must(t, err)
		equal(t, "token", json.Number(first), json.Number(s.client.HGet(ctx, s.threadKeys(id)[keyThread], "token").Val()))
		asked, err := s.CancelRequested(ctx, id)
		must(t, err)
		equal(t, "asked to stop", asked, true)
		_, err = s.Renew(ctx, l)
		must(t, err)
	})
	t.Run("an answer counts once, though the superstep has ended since", func(t *testing.T) {
		t.Parallel()
		s, other := open(t, Options{}), open(t, Options{})
		other.prefix = s.prefix
		th := create(t, other)
		th.fill()
		lost(t, s, answerScript, func() { th.commit() })
		must(t, s.Answer(ctx, th.id, map[string]json.RawMessage{"q": raw(`1`)}))
		equal(t, "waiting", th.waiting(), 0)
	})
	t.Run("an answer is not refused for being there already", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		th := create(t, s)
		th.fill()
		lost(t, s, answerScript, nil)
		must(t, s.Answer(ctx, th.id, map[string]json.RawMessage{"q": raw(`1`)}))
		equal(t, "waiting", th.waiting(), 0)
		wantErr(t, s.Answer(ctx, th.id, map[string]json.RawMessage{"q": raw(`1`)}), state.ErrAnswered)
	})
	t.Run("a commit is made once, though another worker has the thread by then", func(t *testing.T) {
		t.Parallel()
		s, other := open(t, Options{}), open(t, Options{})
		other.prefix = s.prefix
		th := create(t, s)
		lost(t, s, commitScript, func() {
			must(t, other.Release(ctx, th.lease))
			take(t, other, th.id)
		})
		cp := th.commit()
		equal(t, "checkpoint", cp, th.load(2).Checkpoint)
		equal(t, "log", len(th.load(0).Logs["log"]), 2)
	})
	t.Run("a commit without a write id is made once", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		th := create(t, s)
		lost(t, s, commitScript, nil)
		equal(t, "seq", th.commit(func(c *state.Commit) { c.WriteID = "" }).Seq, int64(2))
		equal(t, "log", len(th.load(0).Logs["log"]), 2)
	})
	t.Run("a question is counted once", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		th := create(t, s)
		lost(t, s, interruptScript, nil)
		th.fill()
		equal(t, "waiting", th.waiting(), 1)
	})
	t.Run("a deletion removes no thread that was made in between", func(t *testing.T) {
		t.Parallel()
		s, other := open(t, Options{}), open(t, Options{})
		other.prefix = s.prefix
		th := create(t, s)
		must(t, s.Release(ctx, th.lease))
		lost(t, s, deleteScript, func() {
			_, err := other.CreateThread(ctx, state.NewThread{ID: th.id, Workflow: "successor"})
			must(t, err)
		})
		must(t, s.DeleteThread(ctx, th.id))
		got, err := s.Thread(ctx, th.id)
		must(t, err)
		equal(t, "workflow", got.Workflow, "successor")
		list, err := s.Threads(ctx, state.ThreadFilter{})
		must(t, err)
		equal(t, "listed", len(list), 1)
	})
	t.Run("a release is no error", func(t *testing.T) {
		t.Parallel()
		s := open(t, Options{})
		th := create(t, s)
		lost(t, s, releaseScript, nil)
		must(t, s.Release(ctx, th.lease))
	})
}

func (th *thread) waiting() int {
	th.t.Helper()
	got, err := th.s.Thread(th.t.Context(), th.id)
	must(th.t, err)
	return got.Waiting
}

// TestReplyLostByTheNetwork loses replies where they are lost: the script ran,
// and the connection ends before its reply.
func TestReplyLostByTheNetwork(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	s := connect(t, proxy.Addr(), Options{})
	th := create(t, s)
	th.commit()
	proxy.DropReplies(1)
	th.commit()
	proxy.DropReplies(1)
	th.fill()
	proxy.DropReplies(1)
	must(t, s.Answer(t.Context(), th.id, map[string]json.RawMessage{"q": raw(`1`)}))
	equal(t, "replies lost", proxy.Dropped(), 3)
	snap := th.load(0)
	equal(t, "log", len(snap.Logs["log"]), 3)
	equal(t, "pending", []int{len(snap.Pending), len(snap.Records), len(snap.Interrupts)}, []int{1, 1, 1})
}
