package redis

import (
	"testing"
	"time"

	"junction/state"
)

// TestACopyOfAnAcquisitionThatComesLate runs the script once more when the lease
// it gave is over: a request can wait in the network long after its caller has
// tried again, been answered and gone.
func TestACopyOfAnAcquisitionThatComesLate(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	nonce := s.client.HGet(t.Context(), th.key(keyThread), "taken").Val()
	again := func() {
		t.Helper()
		r, _, err := s.run(t.Context(), "acquire", th.id, acquireScript, append(s.retained(3), nonce, "worker", time.Minute.Microseconds()))
		must(t, err)
		equal(t, "reply", r.word() == "ok", false)
	}
	must(t, s.Release(t.Context(), th.lease))
	again()
	must(t, s.RequestCancel(t.Context(), th.id)) // of a thread that nobody holds
	got, err := s.Thread(t.Context(), th.id)
	must(t, err)
	equal(t, "status", got.Status, state.StatusCancelled)
	next := take(t, s, th.id)
	again()
	_, err = s.Renew(t.Context(), next.lease)
	must(t, err)
}

func TestARequestToStopShortensWhatAClockThatSteppedBackMadeLong(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	ahead := time.Now().Add(time.Hour).UnixMicro()
	must(t, s.client.HSet(t.Context(), th.key(keyThread), "until", ahead, "ttl", time.Minute.Microseconds()).Err())
	must(t, s.RequestCancel(t.Context(), th.id))
	until, err := s.client.HGet(t.Context(), th.key(keyThread), "until").Int64()
	must(t, err)
	if left := time.Until(time.UnixMicro(until)); left > 2*time.Minute {
		t.Errorf("a lease of a minute lasts %v", left)
	}
}

// TestAThreadThatWentBackIsFree: its holder can do no more, and whoever has to
// mark it, or has looked at it, needs not wait.
func TestAThreadThatWentBackIsFree(t *testing.T) {
	t.Parallel()
	th := create(t, open(t, Options{}))
	restore := th.dump()
	th.commit()
	restore()
	_, err := th.s.Renew(t.Context(), th.lease)
	wantErr(t, err, state.ErrRegressed)
	must(t, th.s.Release(t.Context(), th.lease))
	l, err := th.s.Acquire(t.Context(), th.id, "person", time.Minute)
	must(t, err)
	must(t, th.s.SetStatus(t.Context(), l, state.StatusFailed, nil, nil))
}

// TestARequestClearedByAnAcquisitionWhoseReplyWasLost is told to its caller, and
// to the next one, should the caller be gone.
func TestARequestClearedByAnAcquisitionWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	s, other := open(t, Options{}), open(t, Options{})
	other.prefix = s.prefix
	th := create(t, other)
	must(t, other.RequestCancel(t.Context(), th.id))
	must(t, s.client.HSet(t.Context(), th.key(keyThread), "until", 1).Err()) // its holder died
	lost(t, s, acquireScript, nil)
	l, err := s.Acquire(t.Context(), th.id, "worker", time.Minute)
	must(t, err)
	equal(t, "told", l.Cancelled, true)
	must(t, s.client.HSet(t.Context(), th.key(keyThread), "until", 1).Err())
	l, err = other.Acquire(t.Context(), th.id, "next", time.Minute)
	must(t, err)
	equal(t, "told", l.Cancelled, true)
}

// TestACommitWhoseReplyWasLostIsAcknowledged all the same: a store that loses it
// later has gone back.
func TestACommitWhoseReplyWasLostIsAcknowledged(t *testing.T) {
	t.Parallel()
	th := create(t, open(t, Options{}))
	restore := th.dump()
	lost(t, th.s, commitScript, nil)
	th.commit()
	restore()
	err := th.s.PutRecords(t.Context(), th.lease, []state.Record{th.record("intent")})
	wantErr(t, err, state.ErrRegressed)
}
