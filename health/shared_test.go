package health

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const fade = 3 * time.Second

// heard is a tracker with a server that others tell of at t0.
func heard(peers ...Peer) (*Tracker, *Series) {
	t := NewTracker()
	s := t.Series("lint", "review", t0)
	t.Hear(t0, peers, len(peers), fade)
	return t, s
}

func tells(age time.Duration, s Share) Peer {
	s.Server = "lint"
	return Peer{Age: age, Shares: []Share{s}}
}

func readAt(s *Series, now time.Time) Reading {
	var r Reading
	s.Read(now, &r)
	return r
}

func TestCallsElsewhereCountUntilTheirNewsIsOld(t *testing.T) {
	for _, c := range []struct {
		name       string
		age, after time.Duration
		want       int
	}{
		{"just told", 0, 0, 8},
		{"two thirds of its time old", 0, fade * 2 / 3, 8},
		{"three quarters", 0, fade * 3 / 4, 6},
		{"five sixths", 0, fade * 5 / 6, 4},
		{"at its end", 0, fade, 0},
		{"long after", 0, time.Hour, 0},
		{"old when it was heard", fade / 2, fade / 3, 4},
		{"older when it was heard", fade * 5 / 6, 0, 4},
		{"too old when it was heard", fade, 0, 0},
		{"a clock that steps back", 0, -time.Minute, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := heard(tells(c.age, Share{InFlight: 8}))
			if got := readAt(s, t0.Add(c.after)).InFlight; got != c.want {
				t.Errorf("in flight: %d, want %d", got, c.want)
			}
		})
	}
}

func TestOwnCallsAndThoseOfAllOthersAddUp(t *testing.T) {
	tr, s := heard(tells(0, Share{InFlight: 3}), tells(0, Share{InFlight: 5}), tells(0, Share{Calls: 2}))
	s.Begin(0)
	if r := readAt(s, t0); r.InFlight != 9 || r.Own != 1 || r.Workers != 3 {
		t.Errorf("in flight %d, own %d, workers %d, want 9, 1 and 3", r.InFlight, r.Own, r.Workers)
	}
	tr.Hear(t0, nil, 0, fade)
	if r := readAt(s, t0); r.InFlight != 1 || r.Workers != 1 {
		t.Errorf("in flight %d by %d workers when nobody else has calls, want 1 by 1", r.InFlight, r.Workers)
	}
}

func TestAServerThatWasNotUsedYetIsKnownByWhatOthersTold(t *testing.T) {
	tr := NewTracker()
	tr.Hear(t0, []Peer{tells(0, Share{InFlight: 8})}, 1, fade)
	now := t0.Add(time.Second)
	if got := readAt(tr.Series("lint", "review", now), now).InFlight; got != 8 {
		t.Errorf("in flight %d, want 8", got)
	}
	if got := readAt(tr.Series("lint", "review", now), now.Add(fade)).InFlight; got != 0 {
		t.Errorf("in flight %d without news, want 0", got)
	}
	if got := readAt(tr.Series("other", "review", now), now).InFlight; got != 0 {
		t.Errorf("in flight %d at a server that nobody named", got)
	}
}

func TestASampleOfTheWorkersStandsForAll(t *testing.T) {
	tr, s := heard()
	tr.Hear(t0, []Peer{tells(0, Share{InFlight: 3}), {}}, 20, fade)
	if r := readAt(s, t0); r.InFlight != 30 || r.Workers != 11 {
		t.Errorf("in flight %d by %d workers, want 30 by 11", r.InFlight, r.Workers)
	}
}

func TestOthersCallsThatEndMoveTheQueue(t *testing.T) {
	tr, s := heard(tells(0, Share{InFlight: 3, Calls: 2}))
	before := s.Ended()
	tr.Hear(t0, []Peer{tells(0, Share{InFlight: 3})}, 1, fade)
	if s.Ended() != before {
		t.Error("the queue moved although nothing ended")
	}
	tr.Hear(t0, []Peer{tells(0, Share{InFlight: 3, Calls: 1})}, 1, fade)
	if s.Ended() == before {
		t.Error("the queue stands although a call ended")
	}
}

func TestAServerIsFullForAWorkerThatHasItsShare(t *testing.T) {
	for _, c := range []struct {
		own, all, workers, places int
		want                      bool
	}{
		{own: 4, all: 4, workers: 1, places: 4, want: true},
		{own: 3, all: 3, workers: 1, places: 4},
		{own: 0, all: 9, workers: 1, places: 0}, // nothing is declared
		{own: 0, all: 4, workers: 2, places: 4}, // two of four are its own
		{own: 1, all: 5, workers: 2, places: 4},
		{own: 2, all: 6, workers: 2, places: 4, want: true},
		{own: 3, all: 4, workers: 2, places: 4, want: true},
		{own: 0, all: 4, workers: 5, places: 4, want: true}, // more workers than places
		{own: 0, all: 3, workers: 5, places: 4},
	} {
		r := Reading{InFlight: c.all, Own: c.own, Workers: c.workers}
		if r.Full(c.places) != c.want {
			t.Errorf("%+v: full is %v", c, !c.want)
		}
	}
}

func TestEjectionsElsewhereShortenTheRow(t *testing.T) {
	out := Share{Calls: 3, Ejected: 5 * time.Second}
	fine := Share{Calls: 3}
	for _, c := range []struct {
		name  string
		peers []Peer
		need  int // failures in a row that eject here
	}{
		{"none", []Peer{tells(0, fine)}, 3},
		{"one of one: one worker's trouble may be its own", []Peer{tells(0, out)}, 2},
		{"one of three", []Peer{tells(0, out), tells(0, fine), tells(0, fine)}, 2},
		{"two of four", []Peer{tells(0, out), tells(0, out), tells(0, fine), tells(0, fine)}, 1},
		{"two of three", []Peer{tells(0, out), tells(0, out), tells(0, fine)}, 0},
		{"two of two", []Peer{tells(0, out), tells(0, out)}, 0},
		{"two whose ejections have ended since they told", []Peer{tells(time.Second, Share{Ejected: time.Second}), tells(time.Second, Share{Ejected: time.Second})}, 3},
		{"two whose news are too old", []Peer{tells(fade, out), tells(fade, out)}, 3},
		{"those who do not use it have no vote", []Peer{tells(0, out), tells(0, out), {}, {}, {}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := heard(c.peers...)
			n := 0
			for ; n < 3 && !readAt(s, t0).Ejected; n++ {
				s.Observe(t0, Failure, 0)
			}
			if n != c.need {
				t.Errorf("ejected after %d failures, want %d", n, c.need)
			}
		})
	}
}

func TestStrikesElsewhereAreForgottenWithTheirNews(t *testing.T) {
	_, s := heard(tells(0, Share{Ejected: time.Minute}), tells(0, Share{Calls: 1}))
	late := t0.Add(fade)
	s.Observe(late, Failure, 0)
	s.Observe(late, Failure, 0)
	if readAt(s, late).Ejected {
		t.Error("two failures ejected although the news was over")
	}
}

func TestAnEjectionByTheOthersEndsForAllBySlowStart(t *testing.T) {
	out := func(left time.Duration) []Peer {
		return []Peer{tells(0, Share{Ejected: left}), tells(0, Share{Ejected: left + time.Second}), tells(0, Share{Ejected: time.Minute})}
	}
	tr, s := heard(out(2 * time.Second)...)
	if r := readAt(s, t0.Add(2*time.Second)); !r.Ejected {
		t.Error("not ejected while most have it")
	}
	tr.Hear(t0.Add(2500*time.Millisecond), out(500*time.Millisecond), 3, fade)
	back := t0.Add(4 * time.Second) // half of theirs are over
	if r := readAt(s, back.Add(-1)); !r.Ejected {
		t.Error("back before half of theirs were over")
	}
	r := readAt(s, back)
	if r.Ejected || r.Ramp != rampFrom {
		t.Errorf("ejected %v, ramp %v, want a slow start", r.Ejected, r.Ramp)
	}
	tr.Hear(back, []Peer{tells(0, Share{Calls: 1}), tells(0, Share{Calls: 1})}, 2, fade)
	s.Observe(back.Add(time.Second), Success, time.Millisecond)
	near(t, "in the middle of it", readAt(s, back.Add(rampFor/2)).Ramp, rampFrom+(1-rampFrom)/2)
	near(t, "at its end", readAt(s, back.Add(rampFor)).Ramp, 1)
}

func TestAnEjectionByTheOthersEndsWithTheirNews(t *testing.T) {
	_, s := heard(tells(0, Share{Ejected: time.Hour}), tells(0, Share{Ejected: time.Hour}))
	if !readAt(s, t0.Add(fade-1)).Ejected || readAt(s, t0.Add(fade)).Ejected {
		t.Error("it does not end with the news")
	}
}

func TestAnOwnSuccessEndsAnEjectionByTheOthers(t *testing.T) {
	out := []Peer{tells(0, Share{Ejected: time.Hour}), tells(0, Share{Ejected: time.Hour})}
	tr, s := heard(out...)
	s.Observe(t0.Add(time.Second), Success, time.Millisecond)
	if r := readAt(s, t0.Add(time.Second)); r.Ejected || r.Ramp != rampFrom {
		t.Errorf("ejected %v, ramp %v, want a slow start", r.Ejected, r.Ramp)
	}
	tr.Hear(t0.Add(2*time.Second), out, 2, fade)
	if readAt(s, t0.Add(2*time.Second)).Ejected {
		t.Error("the same ejection took it out again")
	}
	tr.Hear(t0.Add(3*time.Second), nil, 0, fade)
	tr.Hear(t0.Add(4*time.Second), out, 2, fade)
	if !readAt(s, t0.Add(4*time.Second)).Ejected {
		t.Error("a new ejection did not take it out")
	}
}

func TestAnEjectionByTheOthersIsNotToldOn(t *testing.T) {
	tr, s := heard(tells(0, Share{Ejected: time.Hour}), tells(0, Share{Ejected: time.Hour}))
	s.Begin(0)
	if got := tr.Shares(t0, 9); len(got) != 1 || got[0].Ejected != 0 || got[0].InFlight != 1 {
		t.Errorf("told %+v, want one own call and no ejection", got)
	}
}

func TestSharesTellWhatIsInUse(t *testing.T) {
	tr := NewTracker()
	busy, broken, idle := tr.Series("busy", "a", t0), tr.Series("broken", "a", t0), tr.Series("idle", "a", t0)
	half, other := tr.Series("half", "a", t0), tr.Series("half", "b", t0)
	_ = idle
	for range 3 {
		busy.Begin(0)
		for _, s := range []*Series{broken, half} {
			s.Begin(0)
			s.End(t0, Failure, 0)
		}
	}
	other.Begin(0)
	other.End(t0, Success, time.Millisecond)
	busy.End(t0, Success, time.Millisecond)
	want := []Share{
		{Server: "busy", InFlight: 2, Calls: 1},
		{Server: "broken", Ejected: ejectFirst, Calls: 3, Failures: 3},
		{Server: "half", Calls: 4, Failures: 3}, // it works for another capability
	}
	if got := tr.Shares(t0, 9); !slices.Equal(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
	want = []Share{{Server: "busy", InFlight: 2}, {Server: "broken", Ejected: ejectFirst - time.Second}}
	if got := tr.Shares(t0.Add(time.Second), 9); !slices.Equal(got, want) {
		t.Errorf("told then %+v, want %+v", got, want)
	}
	if got := tr.Shares(t0.Add(time.Second), 1); !slices.Equal(got, want[:1]) {
		t.Errorf("told %+v where one may be, want the busiest", got)
	}
}

func TestAnErrorRateFromOutsideStandsForItsTime(t *testing.T) {
	tr, s := heard()
	s.Observe(t0, Success, time.Millisecond)
	tr.SetErrorRate("lint", 0.25, t0.Add(time.Minute))
	tr.SetErrorRate("nobody", 1, t0.Add(time.Minute))
	near(t, "while it stands", readAt(s, t0.Add(time.Minute-1)).ErrorRate, 0.25)
	near(t, "afterwards", readAt(s, t0.Add(time.Minute)).ErrorRate, 0)
	tr.Hear(t0, []Peer{tells(0, Share{InFlight: 1})}, 1, fade)
	near(t, "beside what others tell", readAt(s, t0).ErrorRate, 0.25)
}

func TestReadingWhatOthersTellAllocatesNothing(t *testing.T) {
	_, s := heard(tells(0, Share{InFlight: 8}), tells(0, Share{Ejected: time.Second}))
	var r Reading
	if n := testing.AllocsPerRun(100, func() { s.Read(t0, &r) }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

func TestHearingAndReadingGoOnTogether(t *testing.T) {
	tr := NewTracker()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			now := t0.Add(time.Duration(i) * time.Millisecond)
			tr.Hear(now, []Peer{{Shares: []Share{{Server: fmt.Sprint(i % 7), InFlight: 1, Ejected: time.Second}}}}, 1, fade)
			tr.Shares(now, 5)
		}
	}()
	for i := range 200 {
		s := tr.Series(fmt.Sprint(i%9), "a", t0)
		s.Begin(0)
		s.End(t0, Outcome(i%4), time.Millisecond)
		readAt(s, t0)
	}
	<-done
}

func BenchmarkReadingBesideOthers(b *testing.B) {
	_, s := heard(tells(0, Share{InFlight: 8}))
	var r Reading
	for b.Loop() {
		s.Read(t0, &r)
	}
}
