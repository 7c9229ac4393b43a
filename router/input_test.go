package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

func pointer(s string) *string { return &s }

// asksFirst asks for a name before it goes on.
func asksFirst(id string) reply {
	return func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		if c.Input == nil {
			return &router.ToolResult{Input: &state.Input{State: pointer("opaque " + id), Requests: map[string]json.RawMessage{
				"who": json.RawMessage(`{"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object",` +
					`"required":["name","role"],"properties":{"name":{"type":"string"},"role":{"type":"string","default":"reader"}}}}}`),
			}}}, nil
		}
		return answers(id)(ctx, n, c)
	}
}

func TestAServersQuestionIsAnInterruptAndItsAnswerReachesAnotherInstance(t *testing.T) {
	for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		t.Run(string(e), func(t *testing.T) {
			instance := func(id string) func(*router.Server, *script) {
				return func(s *router.Server, k *script) {
					s.Name, s.Offers[0].Effect, k.answer = "desk", e, asksFirst(id)
					s.Offers[0].Ledger.Name = "desk"
				}
			}
			f := newFleet().add("a", instance("a")).add("z", effect(e))
			f.by["z"].answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
				t.Error("the answers went to another service")
				return nil, errors.New("called")
			}
			inBubble(t, f, router.Options{Picker: first{}}, func(t *testing.T, r *router.Router) {
				book, someone := &ledgerBook{}, &person{}
				ctx, j := task{book: book, person: someone}.context(t)
				if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) {
					t.Fatalf("%v, want the pause", err)
				}
				if waiting := j.Take(); len(waiting) != 0 {
					t.Errorf("%d records are not durable", len(waiting))
				}
				rs, _ := book.Records(t.Context(), state.RecordFilter{})
				if len(rs) != 1 || rs[0].Status != state.CallWaiting || rs[0].Input == nil || rs[0].Service != "desk" || rs[0].Undecided() {
					t.Fatalf("records %+v", rs)
				}
				q := someone.asked[0]
				if q.Question["question"] != "Who are you?" || q.Question["server"] != "a" {
					t.Errorf("asked %+v", q.Question)
				}

				// Days later, in another process, the instance is gone.
				f.drop(func(s *router.Server) bool { return s.ID == "a" })
				f.add("b", instance("b"))
				someone.say = func(asked) string { return `{"content":{"name":"Ada"}}` }
				ctx, j = task{book: book, person: someone}.context(t)
				a, err := r.Do(ctx, work)
				if err != nil || a.Value.(map[string]any)["by"] != "b" {
					t.Fatalf("%+v, %v", a, err)
				}
				if kept := j.Take(); len(kept) == 0 || kept[len(kept)-1].Input != nil || kept[len(kept)-1].Attempt != 1 {
					t.Errorf("what was kept for the server stays: %q", statuses(kept))
				}
				in := f.calls[len(f.calls)-1].Call.Input
				want := &router.InputAnswers{State: pointer("opaque a"), Responses: map[string]json.RawMessage{
					"who": json.RawMessage(`{"action":"accept","content":{"name":"Ada","role":"reader"}}`),
				}}
				if diff := cmp.Diff(want, in); diff != "" {
					t.Error(diff)
				}
				if someone.asked[0].Name != someone.asked[1].Name {
					t.Errorf("the question's name changed: %q, %q", someone.asked[0].Name, someone.asked[1].Name)
				}
				if len(f.calls) != 2 {
					t.Errorf("%d calls, want 2", len(f.calls))
				}
			})
		})
	}
}

func TestADeclinedQuestionIsAnsweredSo(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = asksFirst("a") })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{say: func(asked) string { return `{"action":"decline"}` }}}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		if got := string(f.calls[1].Call.Input.Responses["who"]); got != `{"action":"decline"}` {
			t.Errorf("answered %s", got)
		}
	})
}

func TestAQuestionWhoseFieldsMayAllBeLeftOutIsPut(t *testing.T) {
	for name, form := range map[string]string{
		"none is required":           `{"type":"object","properties":{"sure":{"type":"boolean"}}}`,
		"what is has a default":      `{"type":"object","properties":{"sure":{"type":"boolean","default":true}},"required":["sure"]}`,
		"the list of these is empty": `{"type":"object","properties":{"sure":{"type":"boolean"}},"required":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet().add("a", func(_ *router.Server, k *script) {
				k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
					if c.Input != nil {
						return answers("a")(ctx, n, c)
					}
					return &router.ToolResult{Input: &state.Input{Requests: map[string]json.RawMessage{
						"sure": json.RawMessage(`{"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":` + form + `}}`),
					}}}, nil
				}
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				ctx, _ := task{book: &ledgerBook{}, person: &person{say: func(asked) string { return `{"content":{}}` }}}.context(t)
				if _, err := r.Do(ctx, work); err != nil {
					t.Fatal(err)
				}
				if got := string(f.calls[1].Call.Input.Responses["sure"]); !strings.HasPrefix(got, `{"action":"accept","content":{`) {
					t.Errorf("answered %s", got)
				}
			})
		})
	}
}

func TestAServerThatNeverStopsAskingEndsTheAttempt(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.answer = func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			c.Input = nil
			return asksFirst("a")(ctx, n, c)
		}
	})
	inBubble(t, f, router.Options{Attempts: 1}, func(t *testing.T, r *router.Router) {
		someone := &person{say: func(asked) string { return `{"content":{"name":"Ada"}}` }}
		ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
		_, err := r.Do(ctx, work)
		failed, ok := errors.AsType[*router.AttemptsError](err)
		if !ok || failed.Code() != string(router.OutputInvalid) || !strings.Contains(err.Error(), "11 times") {
			t.Errorf("%v", err)
		}
		var names []string
		for _, q := range someone.asked {
			names = append(names, q.Name)
		}
		if len(names) != 10 || len(slices.Compact(names)) != 10 {
			t.Errorf("asked %d times, under %q", len(someone.asked), names)
		}
	})
}

func TestWhatNobodyHereCanGiveFailsTheHop(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{Input: &state.Input{Requests: map[string]json.RawMessage{"x": json.RawMessage(`{"method":"sampling/createMessage"}`)}}}, nil
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{}}.context(t)
		if _, err := r.Do(ctx, work); err == nil || !strings.Contains(err.Error(), `"sampling/createMessage"`) {
			t.Errorf("%v", err)
		}
	})
}

func TestNumbersOfAnAnswerStayExact(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = asksFirst("a") })
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		someone := &person{say: func(asked) string { return `{"content":{"name":"Ada","seat":9007199254740993}}` }}
		ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
		if _, err := r.Do(ctx, work); err != nil {
			t.Fatal(err)
		}
		if got, want := string(f.calls[1].Call.Input.Responses["who"]), `{"action":"accept","content":{"name":"Ada","role":"reader","seat":9007199254740993}}`; got != want {
			t.Errorf("answered %s, want %s", got, want)
		}
	})
}
