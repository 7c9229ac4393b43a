package redis

import (
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// long tells whether the script that takes every case was asked since.
func long(s *Store) (asked func() bool) {
	var was atomic.Bool
	s.client.AddHook(hook{seen: func(cmd goredis.Cmder) {
		if args := cmd.Args(); len(args) > 1 && args[1] == recordsScript.Hash() {
			was.Store(true)
		}
	}})
	return func() bool { return was.Swap(false) }
}

func TestRecordsThatAreOutOfTheOrdinaryAreLeftToTheLongScript(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	asked := long(s)
	put := func(status state.CallStatus, change func(*state.Record)) bool {
		t.Helper()
		r := th.record("hop")
		r.Status, r.Started = status, time.Unix(1_800_000_000, 0)
		if change != nil {
			change(&r)
		}
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{r}))
		return asked()
	}
	plainly := func(*state.Record) {}
	another := func(r *state.Record) { r.Attempt = 2 }
	for _, c := range []struct {
		what   string
		status state.CallStatus
		change func(*state.Record)
		long   bool
	}{
		{"the thread's first record", state.CallOpen, plainly, true},
		{"another intent", state.CallOpen, another, false},
		{"its outcome", state.CallError, another, false},
		{"an intent after its outcome", state.CallOpen, another, true},
		{"a final success", state.CallSuccess, func(r *state.Record) { r.Final = true }, false},
		{"an outcome after that", state.CallError, plainly, true},
	} {
		equal(t, c.what+" needs the long script", put(c.status, c.change), c.long)
	}
	stored, err := s.Records(t.Context(), state.RecordFilter{Thread: th.id})
	must(t, err)
	var statuses []state.CallStatus
	for _, r := range stored {
		statuses = append(statuses, r.Status)
	}
	equal(t, "statuses", statuses, []state.CallStatus{state.CallSuccess, state.CallError})
}

func TestWhatIsUnderWayExpiresWithTheThreadWhicheverScriptBeganIt(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("first")})) // by the long one
	th.commit(func(*state.Commit) {})
	must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("second")}))
	ends := func(place int) time.Duration {
		at, err := s.client.PExpireTime(t.Context(), th.key(place)).Result()
		must(t, err)
		return at
	}
	if ends(keyThread) <= 0 {
		t.Fatal("the thread does not expire")
	}
	equal(t, "expiry of what is under way", ends(keyUnderway), ends(keyThread))
}
