package state_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"junction/state"
)

func TestIntentIsDurableBeforeItReturnsAndTakesWhatWaitsWithIt(t *testing.T) {
	j := newJournaled(t)
	safe := begin(t, j.Journal, "")
	check(t, safe.Outcome(t.Context(), ended(attempt(1, state.Safe), state.CallSuccess, "", true), false))
	safe.Close()
	if n := len(j.stored(t)); n != 0 {
		t.Fatalf("%d records are stored, the safe outcome should wait", n)
	}
	pay := begin(t, j.Journal, "")
	check(t, pay.Intent(t.Context(), attempt(1, state.Unsafe)))
	if n := len(j.stored(t)); n != 2 {
		t.Errorf("%d records are stored, want the intent and the outcome that waited", n)
	}
	if n := len(j.Take()); n != 0 {
		t.Errorf("%d records still wait", n)
	}
	check(t, pay.Outcome(t.Context(), ended(attempt(1, state.Unsafe), state.CallSuccess, "", true), true))
	for _, r := range j.stored(t) {
		if r.Status != state.CallSuccess || r.Task != "task" || r.Node != "pay" || r.InputHash != "args" || r.Started.IsZero() {
			t.Errorf("stored record is %+v", r)
		}
	}
}

func toolError(r state.Record) state.Record {
	r.IsError = true
	return r
}

func TestAToolsErrorIsTheSameAgainForATaskThatWentOn(t *testing.T) {
	for name, hops := range map[string][2]string{"numbered": {"", ""}, "keyed": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			j := newJournaled(t)
			for n, hop := range hops {
				h := begin(t, j.Journal, hop)
				rec := toolError(ended(attempt(1, state.Safe), state.CallSuccess, "", true))
				rec.Started, rec.Duration = time.Unix(int64(n), 0), time.Second
				check(t, h.Outcome(t.Context(), rec, true))
				h.Close()
			}
			j.crash(t)
			for n, hop := range hops {
				h := begin(t, j.Journal, hop)
				if _, replays := h.Replay(); replays != (n == 0) {
					t.Errorf("hop %d replays: %v; the second hop followed from the first one's error, and nothing from the second's", n+1, replays)
				}
				h.Close()
			}
		})
	}
}

func TestTheAnswerThatFollowedAToolsErrorIsTheOneReplayed(t *testing.T) {
	j := newJournaled(t)
	h := begin(t, j.Journal, "")
	check(t, h.Outcome(t.Context(), toolError(ended(attempt(1, state.Safe), state.CallSuccess, "", true)), true))
	h.Close()
	j.crash(t)
	h = begin(t, j.Journal, "")
	check(t, h.Outcome(t.Context(), ended(attempt(1, state.Safe), state.CallSuccess, "", true), true))
	h.Close()
	next := begin(t, j.Journal, "")
	check(t, next.Intent(t.Context(), attempt(1, state.Unsafe)))
	j.crash(t)
	if r, replays := begin(t, j.Journal, "").Replay(); !replays || r.IsError || r.Round != 2 {
		t.Errorf("replays %+v (%v), want the second round's result, which the next hop followed from", r, replays)
	}
}

func TestATaskIsUndecidedWhileAHopOfItsMayHaveTakenEffect(t *testing.T) {
	timeout := func(n int, e state.Effect) state.Record {
		return ended(attempt(n, e), state.CallTimeout, state.Unknown, false)
	}
	for name, c := range map[string]struct {
		left []state.Record
		want bool
	}{
		"nothing":                   {nil, false},
		"an intent":                 {[]state.Record{attempt(1, state.Unsafe)}, true},
		"an unknown outcome":        {[]state.Record{timeout(1, state.Conditional)}, true},
		"one of a safe hop":         {[]state.Record{timeout(1, state.Safe)}, false},
		"then a result":             {[]state.Record{timeout(1, state.Unsafe), ended(attempt(2, state.Unsafe), state.CallSuccess, "", true)}, false},
		"then a final refusal":      {[]state.Record{timeout(1, state.Unsafe), ended(attempt(2, state.Unsafe), state.CallError, state.NotExecuted, true)}, false},
		"then a refusal":            {[]state.Record{timeout(1, state.Conditional), ended(attempt(2, state.Conditional), state.CallError, state.NotExecuted, false)}, true},
		"then an unusable answer":   {[]state.Record{timeout(1, state.Conditional), ended(attempt(2, state.Conditional), state.CallError, state.Executed, false)}, false},
		"a request that never left": {[]state.Record{ended(attempt(1, state.Unsafe), state.CallRejected, state.NotExecuted, false)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournaled(t)
			h := begin(t, j.Journal, "")
			for _, r := range c.left {
				if r.Status == "" {
					check(t, h.Intent(t.Context(), r))
				} else {
					check(t, h.Outcome(t.Context(), r, true))
				}
			}
			h.Close()
			if got := j.Undecided(); got != c.want {
				t.Errorf("undecided: %v", got)
			}
		})
	}
}

func TestWhatARunLeftDecidesHowTheNextGoesOn(t *testing.T) {
	const again, replay, unknown = "a new round", "replays", "goes on in its round"
	for name, c := range map[string]struct {
		left []state.Record
		want string
	}{
		"nothing":                           {nil, unknown},
		"a final result":                    {[]state.Record{ended(attempt(1, state.Unsafe), state.CallSuccess, "", true)}, replay},
		"a final result, then a late error": {[]state.Record{ended(attempt(1, state.Safe), state.CallSuccess, "", true), ended(attempt(2, state.Safe), state.CallError, state.Unknown, false)}, replay},
		"an error, then a final result":     {[]state.Record{ended(attempt(1, state.Conditional), state.CallError, state.NotExecuted, false), ended(attempt(2, state.Conditional), state.CallSuccess, "", true)}, replay},
		"a tool's error of an unsafe hop":   {[]state.Record{toolError(ended(attempt(1, state.Unsafe), state.CallSuccess, "", true))}, replay},
		"a tool's error of a safe hop":      {[]state.Record{toolError(ended(attempt(1, state.Safe), state.CallSuccess, "", true))}, again},
		"an intent":                         {[]state.Record{attempt(1, state.Unsafe)}, unknown},
		"a refusal before the end":          {[]state.Record{ended(attempt(1, state.Unsafe), state.CallError, state.NotExecuted, false)}, unknown},
		"a final refusal":                   {[]state.Record{ended(attempt(1, state.Unsafe), state.CallError, state.NotExecuted, true)}, again},
		"a final failure of a safe hop":     {[]state.Record{ended(attempt(1, state.Safe), state.CallTimeout, state.Unknown, true)}, again},
		"nobody to ask":                     {[]state.Record{ended(attempt(0, ""), state.CallRejected, "", true)}, again},
		"a final unknown outcome":           {[]state.Record{ended(attempt(1, state.Unsafe), state.CallTimeout, state.Unknown, true)}, unknown},
		"an unknown outcome, then a final refusal under the same key": {[]state.Record{
			ended(attempt(1, state.Conditional), state.CallTimeout, state.Unknown, false), ended(attempt(2, state.Conditional), state.CallError, state.NotExecuted, true)}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournaled(t)
			h := begin(t, j.Journal, "k")
			for _, r := range c.left {
				if r.Status == "" {
					check(t, h.Intent(t.Context(), r))
				} else {
					check(t, h.Outcome(t.Context(), r, true))
				}
			}
			known := j.Known()
			for how, prior := range map[string][]state.Record{"after a crash": j.stored(t), "in the same process": known} {
				j.again(prior)
				h := begin(t, j.Journal, "k")
				r, replays := h.Replay()
				got := unknown
				switch {
				case replays:
					got = replay
				case h.Round() == 2:
					got = again
				}
				if got != c.want {
					t.Errorf("%s the hop %s, want: %s", how, got, c.want)
				}
				if replays && string(r.Result) != `"done"` {
					t.Errorf("%s the result is %s", how, r.Result)
				}
				if c.want == unknown && len(h.Prior()) != len(c.left) || c.want == again && len(h.Prior()) != 0 {
					t.Errorf("%s %d attempts are prior of %d", how, len(h.Prior()), len(c.left))
				}
				if h.Key() != "junction-"+state.HopID(scope, "@k") {
					t.Errorf("%s the key is %s", how, h.Key())
				}
			}
		})
	}
}

func TestRoundsKeepOldAttemptsApart(t *testing.T) {
	j := newJournaled(t)
	for round := 1; round <= 3; round++ {
		h := begin(t, j.Journal, "")
		if h.Round() != round || len(h.Prior()) != 0 {
			t.Fatalf("round is %d with %d prior attempts, want %d with none", h.Round(), len(h.Prior()), round)
		}
		check(t, h.Outcome(t.Context(), ended(attempt(1, state.Unsafe), state.CallError, state.NotExecuted, true), true))
		j.crash(t)
	}
	if n := len(j.stored(t)); n != 3 {
		t.Errorf("%d records are stored, want one a round", n)
	}
}

func TestOtherArgumentsUnderARecordedHopAreRefused(t *testing.T) {
	j := newJournaled(t)
	check(t, begin(t, j.Journal, "").Intent(t.Context(), attempt(1, state.Unsafe)))
	j.crash(t)
	_, err := j.Begin("", "changed")
	var nondeterminism *state.NondeterminismError
	if !errors.As(err, &nondeterminism) || nondeterminism.Recorded != "args" || nondeterminism.Wanted != "changed" || nondeterminism.Node != "pay" {
		t.Errorf("error is %v", err)
	}
}

func TestRecordsOfOtherTasksAreNotPrior(t *testing.T) {
	r := ended(attempt(1, state.Safe), state.CallSuccess, "", true)
	r.Hop, r.Task, r.Round, r.InputHash = state.HopID(scope, "1"), "other", 1, "args"
	j := state.NewJournal(scope, state.JournalOptions{Prior: []state.Record{r}})
	if _, replays := begin(t, j, "").Replay(); replays {
		t.Error("replayed another task's record")
	}
}

func TestTakenRecordsComeBackInOrder(t *testing.T) {
	j := newJournaled(t)
	put := func(name string) {
		check(t, begin(t, j.Journal, name).Outcome(t.Context(), ended(attempt(1, state.Safe), state.CallSuccess, "", true), false))
	}
	put("a")
	put("b")
	taken := j.Take()
	put("c")
	j.Return(taken)
	var names []string
	for _, r := range j.Take() {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "@a @b @c" {
		t.Errorf("order is %s", got)
	}
	if j.Take() != nil {
		t.Error("records can be taken twice")
	}
}

func TestQuestionWhereNobodyCanAnswerIsAnError(t *testing.T) {
	j := state.NewJournal(scope, state.JournalOptions{})
	if _, err := j.Ask(t.Context(), "ok", "?", nil); err == nil || !strings.Contains(err.Error(), "pay") {
		t.Errorf("error is %v", err)
	}
}

func TestJournalTravelsWithItsContext(t *testing.T) {
	j := state.NewJournal(scope, state.JournalOptions{})
	if got := state.JournalFrom(state.WithJournal(t.Context(), j)); got != j || got.Scope() != scope {
		t.Error("another journal came out of the context")
	}
	if state.JournalFrom(t.Context()) != nil {
		t.Error("a journal came from nowhere")
	}
}
