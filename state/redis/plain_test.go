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

// The short script is asked by itself: the long one, which it leaves to, would hide
// what it lets through.
func TestTheShortScriptWritesNothingUnderALeaseThatDoesNotStand(t *testing.T) {
	t.Parallel()
	for what, lose := range map[string]func(t *testing.T, th *thread){
		"it was released": func(t *testing.T, th *thread) { must(t, th.s.Release(t.Context(), th.lease)) },
		"it ran out": func(t *testing.T, th *thread) {
			now, err := th.s.client.Time(t.Context()).Result()
			must(t, err)
			must(t, th.s.client.HSet(t.Context(), th.key(keyThread), "until", now.UnixMicro()).Err())
		},
		"another has it": func(t *testing.T, th *thread) { th.free(); take(t, th.s, th.id) },
		"the store went back behind a commit": func(t *testing.T, th *thread) {
			restore := th.dump()
			th.commit()
			restore()
		},
		"the store went back behind the acquisition": func(t *testing.T, th *thread) {
			restore := th.dump()
			th.free()
			th.lease = take(t, th.s, th.id).lease
			restore()
		},
		"the thread is gone": func(t *testing.T, th *thread) {
			must(t, th.s.client.Del(t.Context(), th.s.threadKeys(th.id)...).Err())
		},
		"the thread was made again": func(t *testing.T, th *thread) {
			must(t, th.s.Release(t.Context(), th.lease))
			must(t, th.s.DeleteThread(t.Context(), th.id))
			_, err := th.s.CreateThread(t.Context(), state.NewThread{ID: th.id})
			must(t, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{})
			th := create(t, s)
			put := func(hops ...string) bool {
				t.Helper()
				var rs []state.Record
				for _, hop := range hops {
					rs = append(rs, th.record(hop))
				}
				var p packer
				stored, err := s.putPlain(t.Context(), what, th.lease, p.records(rs, true))
				must(t, err)
				return stored
			}
			must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("first")}))
			th.commit()
			if !put("second") || !put("third", "fourth") {
				t.Fatal("it stores nothing under a lease that stands")
			}
			lose(t, th)
			before := contents(t, th)
			if put("late") || put("late", "later") {
				t.Error("it stored a record")
			}
			equal(t, "contents", contents(t, th), before)
		})
	}
}

// A worker of the version before keeps no field "under", and may have begun what is
// under way.
func TestWhatIsUnderWayExpiresWhereAnOlderWorkerHadTheThread(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	for _, begun := range []bool{false, true} {
		th := create(t, s)
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("first")}))
		must(t, s.client.HDel(t.Context(), th.key(keyThread), "under").Err())
		if !begun {
			th.commit()
		}
		asked := long(s)
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{th.record("second")}))
		equal(t, "needs the long script", asked(), false)
		th.wantTimes(len(th.times()), s.o.Retention.Stopped)
		equal(t, "records under way", len(th.load(0).Records), map[bool]int{false: 1, true: 2}[begun])
	}
}

// What a thread keeps of its newest record's time is exact to the second only.
func TestNoRecordIsMissedSinceATimeWithinASecond(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	th := create(t, s)
	second := time.Unix(1_800_000_000, 0)
	for i, at := range []time.Duration{0, 400 * time.Millisecond, 999_999_999} {
		r := th.record("hop")
		r.Attempt, r.Started = i+1, second.Add(at)
		must(t, s.PutRecords(t.Context(), th.lease, []state.Record{r}))
		for since, want := range map[time.Time]int{second: i + 1, r.Started: 1, r.Started.Add(1): 0} {
			got, err := s.Records(t.Context(), state.RecordFilter{Since: since})
			must(t, err)
			equal(t, "records since "+since.Format(time.StampNano), len(got), want)
		}
	}
}
