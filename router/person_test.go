package router_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

func TestAnUnsafeUnknownOutcomeIsAPersonsToSettle(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer string
		calls  int
		check  func(t *testing.T, a state.Answer, err error, rs []state.Record)
	}{
		{"it happened", `{"choice": "happened", "result": {"id": 7}}`, 1, func(t *testing.T, a state.Answer, err error, rs []state.Record) {
			if err != nil || a.Value.(map[string]any)["id"] != int64(7) || a.Server != "a" {
				t.Fatalf("%+v, %v; want the result that was given", a, err)
			}
			if want := []string{"1 a error unknown MCP_TRANSPORT", "2 a success executed "}; !slices.Equal(statuses(rs), want) || !rs[1].Final {
				t.Errorf("history %q, want %q", statuses(rs), want)
			}
		}},
		{"call again", `{"choice": "again"}`, 2, func(t *testing.T, a state.Answer, err error, rs []state.Record) {
			if err != nil || a.Value.(map[string]any)["by"] != "a" {
				t.Fatalf("%+v, %v; want the second call's answer", a, err)
			}
			if want := []string{"1 a error unknown MCP_TRANSPORT", "2 a success  "}; !slices.Equal(statuses(rs), want) {
				t.Errorf("history %q, want %q", statuses(rs), want)
			}
		}},
		{"abandon", `{"choice": "abandon"}`, 1, func(t *testing.T, _ state.Answer, err error, rs []state.Record) {
			gone, ok := errors.AsType[*router.UnknownOutcomeError](err)
			if !ok || !gone.Abandoned || gone.Server() != "a" || gone.Hop() == "" || gone.Code() != "MCP_TRANSPORT" {
				t.Fatalf("%v; want that it was given up", err)
			}
			if rs[len(rs)-1].Final {
				t.Error("the round was closed: a resume would call again")
			}
		}},
		{"no answer yet", "", 1, func(t *testing.T, _ state.Answer, err error, _ []state.Record) {
			if !errors.Is(err, errPaused) {
				t.Fatalf("%v; want the pause", err)
			}
		}},
		{"an answer that is none of the choices", `{"choice": "perhaps"}`, 1, func(t *testing.T, _ state.Answer, err error, _ []state.Record) {
			if _, ok := errors.AsType[*router.UnknownOutcomeError](err); !ok {
				t.Fatalf("%v; want a refusal", err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", effect(state.Unsafe))
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				book := &ledgerBook{}
				crashed(t, r, f, book)
				pass(6 * time.Minute) // past the maximum
				someone := &person{say: func(asked) string { return c.answer }}
				ctx, _ := task{book: book, person: someone}.context(t)
				a, err := r.Do(ctx, work)
				rs, _ := book.Records(t.Context(), state.RecordFilter{})
				c.check(t, a, err, rs)
				if len(f.calls) != c.calls {
					t.Errorf("%d calls, want %d", len(f.calls), c.calls)
				}
				q := someone.asked[0]
				if got := q.choices(); !slices.Equal(got, []any{"happened", "again", "abandon"}) {
					t.Errorf("offered %v", got)
				}
				for _, fact := range []string{"server", "tool", "arguments", "started", "message", "hop", "question"} {
					if q.Question[fact] == nil {
						t.Errorf("the evidence lacks %q", fact)
					}
				}
			})
		})
	}
}

func TestCallingAgainIsOfferedOnlyAfterTheMaximumTime(t *testing.T) {
	early, all := []any{"happened", "abandon"}, []any{"happened", "again", "abandon"}
	f := newFleet().add("a", effect(state.Unsafe))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		crashed(t, r, f, book)
		resume := func(say func(asked) string) (*person, error) {
			someone := &person{say: say}
			ctx, _ := task{book: book, person: someone}.context(t)
			_, err := r.Do(ctx, work)
			return someone, err
		}
		someone, err := resume(nil)
		if !errors.Is(err, errPaused) || len(someone.asked) != 1 || !slices.Equal(someone.asked[0].choices(), early) {
			t.Fatalf("%v, offered %v; the first request may still run", err, someone.asked[0].choices())
		}
		pass(6 * time.Minute)
		someone, err = resume(nil)
		if !errors.Is(err, errPaused) || len(someone.asked) != 1 || !slices.Equal(someone.asked[0].choices(), all) {
			t.Fatalf("%v, offered %v; the maximum time has passed: one question, all choices", err, someone.asked[0].choices())
		}
		later := someone.asked[len(someone.asked)-1].Name
		someone, err = resume(func(q asked) string {
			if q.Name == later {
				return `{"choice": "again"}`
			}
			return ""
		})
		if err != nil || len(f.calls) != 2 {
			t.Fatalf("%v after %d calls (%d questions); want the second call", err, len(f.calls), len(someone.asked))
		}
	})
}

func TestAnAnswerToTheEarlyQuestionCountsLater(t *testing.T) {
	f := newFleet().add("a", effect(state.Unsafe))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		crashed(t, r, f, book)
		first := &person{}
		ctx, _ := task{book: book, person: first}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) {
			t.Fatal(err)
		}
		pass(time.Hour)
		second := &person{say: func(q asked) string {
			if q.Name == first.asked[0].Name {
				return `{"choice": "happened", "result": null}`
			}
			return ""
		}}
		ctx, _ = task{book: book, person: second}.context(t)
		if a, err := r.Do(ctx, work); err != nil || a.Value != nil || len(f.calls) != 1 {
			t.Fatalf("%+v, %v after %d calls", a, err, len(f.calls))
		}
	})
}

func TestWhereNobodyCanBeAskedTheOutcomeIsAnError(t *testing.T) {
	for _, journal := range []bool{true, false} {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = state.Unsafe
			k.answer = fails(router.CallError{Code: router.Timeout, Clock: "maximum", Message: "no answer in 5m0s"})
		}).add("b", effect(state.Unsafe))
		f.snapshot.Servers[0].Weight = 1e9
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			ctx := t.Context()
			if journal {
				ctx, _ = task{}.context(t)
			}
			_, err := r.Do(ctx, work)
			lost, ok := errors.AsType[*router.UnknownOutcomeError](err)
			if !ok || lost.Abandoned || lost.Code() != "MCP_TIMEOUT" || len(f.calls) != 1 {
				t.Fatalf("%v after %d calls; want that the outcome is unknown", err, len(f.calls))
			}
		})
	}
}

func TestTheNextRunFindsTheAnswerToAQuestionThatWasPutAsTheCallFailed(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Hour} { // before and after the maximum
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = state.Unsafe
			k.answer = fails(router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "reset"})
		})
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			book, someone := &ledgerBook{}, &person{}
			ctx, _ := task{book: book, person: someone}.context(t)
			if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(someone.asked) != 1 {
				t.Fatalf("%v after %d questions", err, len(someone.asked))
			}
			pass(after)
			first := someone.asked[0]
			someone.say = func(q asked) string {
				if q.Name == first.Name {
					return `{"choice": "happened", "result": true}`
				}
				return ""
			}
			ctx, _ = task{book: book, person: someone}.context(t)
			if a, err := r.Do(ctx, work); err != nil || a.Value != true || len(f.calls) != 1 {
				t.Fatalf("%+v, %v after %d calls and the questions %v", a, err, len(f.calls), someone.asked)
			}
			if first.Question["hop"] == "" {
				t.Error("the evidence does not name the hop")
			}
		})
	}
}

func TestAResultThatBreaksTheContractIsAskedForAnew(t *testing.T) {
	f := newFleet().add("a", effect(state.Unsafe))
	f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Output: []byte(`{"type": "object", "required": ["id"]}`)}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		crashed(t, r, f, book)
		pass(time.Hour)
		answers := map[string]string{}
		someone := &person{say: func(q asked) string { return answers[q.Name] }}
		resume := func() (state.Answer, error) {
			someone.asked = nil
			ctx, _ := task{book: book, person: someone}.context(t)
			return r.Do(ctx, work)
		}
		for _, wrong := range []string{`{"choice": "happened", "result": {}}`, `{"choice": "happened", "result": 0.1234567890123456789}`} {
			if _, err := resume(); !errors.Is(err, errPaused) {
				t.Fatalf("%v; want a question", err)
			}
			answers[someone.asked[len(someone.asked)-1].Name] = wrong
		}
		if _, err := resume(); !errors.Is(err, errPaused) || someone.asked[2].Question["fault"] == nil {
			t.Fatalf("%v; want a third question that says what was wrong with the second answer", err)
		}
		answers[someone.asked[2].Name] = `{"choice": "happened", "result": {"id": 9007199254740993}}`
		if a, err := resume(); err != nil || a.Value.(map[string]any)["id"] != int64(9007199254740993) || len(f.calls) != 1 {
			t.Fatalf("%+v, %v after %d calls", a, err, len(f.calls))
		}
	})
}

func TestAnAnswerThatNeverFitsEnds(t *testing.T) {
	f := newFleet().add("a", effect(state.Unsafe))
	f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Output: []byte(`{"type": "object", "required": ["id"]}`)}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &ledgerBook{}
		crashed(t, r, f, book)
		someone := &person{say: func(asked) string { return `{"choice": "happened", "result": {}}` }}
		ctx, _ := task{book: book, person: someone}.context(t)
		_, err := r.Do(ctx, work)
		if _, unknown := errors.AsType[*router.UnknownOutcomeError](err); !unknown || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls; want that the outcome stays unknown", err, len(f.calls))
		}
	})
}
