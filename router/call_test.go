package router_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"junction/router"
	"junction/state"
)

func TestArgumentsAndAnswersAreMapped(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Offers[0].With = template(t, map[string]any{"paths": []any{"${with.x}"}})
		s.Offers[0].Result = template(t, map[string]any{"issues": "${result.structured.list}", "said": "${result.text}"})
		k.answer = func(_ context.Context, _ int, c router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{Text: "ok", Structured: map[string]any{"list": c.Arguments["paths"]}}, nil
		}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		a, err := r.Do(t.Context(), work)
		want := map[string]any{"issues": []any{int64(1)}, "said": "ok"}
		if err != nil || !reflect.DeepEqual(a.Value, want) {
			t.Fatalf("%v, %v; want %v", a.Value, err, want)
		}
	})
}

func TestWithoutAMappingTheAnswerIsStructuredElseText(t *testing.T) {
	for _, c := range []struct {
		name   string
		result router.ToolResult
		want   any
	}{
		{"structured", router.ToolResult{Structured: []any{int64(1)}, Text: "[1]"}, []any{int64(1)}},
		{"text", router.ToolResult{Text: "hello"}, map[string]any{"text": "hello"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(_ *router.Server, k *script) {
				k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) { return &c.result, nil }
			})
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				if a, err := r.Do(t.Context(), work); err != nil || !reflect.DeepEqual(a.Value, c.want) {
					t.Fatalf("%v, %v; want %v", a.Value, err, c.want)
				}
			})
		})
	}
}

func TestAnAnswerThatBreaksTheContractGoesElsewhere(t *testing.T) {
	f := newFleet().add("bad", func(s *router.Server, k *script) { s.Weight = 1e9 }).
		add("good", func(_ *router.Server, k *script) {
			k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
				return &router.ToolResult{Structured: map[string]any{"issues": []any{}}}, nil
			}
		})
	f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Output: []byte(`{"type": "object", "required": ["issues"]}`)}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		a, err := r.Do(ctx, work)
		if err != nil || a.Server != "good" {
			t.Fatalf("%+v, %v", a, err)
		}
		if got := statuses(j.Known()); got[0] != "1 bad error executed MCP_OUTPUT_INVALID" {
			t.Errorf("history %q", got)
		}
	})
}

func TestArgumentsThatBreakTheContractAreTheCallersFault(t *testing.T) {
	f := newFleet().add("a", nil)
	f.snapshot.Contracts["work"] = router.Contract{Capability: "work", Input: []byte(`{"required": ["code"]}`)}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		_, err := r.Do(t.Context(), work)
		broken, ok := errors.AsType[*router.ContractError](err)
		if !ok || broken.Code() != "MCP_CAPABILITY_MISMATCH" || !strings.Contains(err.Error(), "code") || len(f.calls) != 0 {
			t.Fatalf("%v after %d calls", err, len(f.calls))
		}
	})
}

func TestASchemaIsNeverFetched(t *testing.T) {
	f := newFleet().add("a", func(_ *router.Server, k *script) {
		k.tools = []router.Tool{{Name: "do", InputSchema: []byte(`{"$ref": "http://127.0.0.1:9/schema.json"}`)}}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		_, err := r.Do(t.Context(), work)
		if by := rejections(t, err); by["a"].Reason != "contract" || !strings.Contains(by["a"].Detail, "not followed") {
			t.Errorf("%+v", by["a"])
		}
	})
}

func TestTheKeyGoesWhereTheOfferSays(t *testing.T) {
	for _, c := range []struct {
		key      string
		argument string
		meta     string
	}{
		{"idempotencyKey", "idempotencyKey", ""},
		{"_meta.x-key", "", "x-key"},
		{"", "", "dev.junction/idempotency-key"},
	} {
		f := newFleet().add("a", func(s *router.Server, _ *script) {
			s.Offers[0].Effect, s.Offers[0].Key = state.Conditional, c.key
		})
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			ctx, j := task{}.context(t)
			if _, err := r.Do(ctx, work); err != nil {
				t.Fatal(err)
			}
			sent, rec := f.calls[0].Call, j.Known()[0]
			got := sent.Arguments[c.argument]
			if c.meta != "" {
				got = sent.Meta[c.meta]
			}
			if got != rec.Key || rec.Key == "" || rec.Ledger == "" || rec.Keeps == 0 {
				t.Errorf("key %q: sent %v, recorded %+v", c.key, got, rec)
			}
			if _, leaked := work.With.(map[string]any)[c.argument]; leaked {
				t.Error("the caller's arguments were changed")
			}
		})
	}
}

func TestDirectCalls(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   state.Call
		effect state.Effect
	}{
		{"unsaid is unsafe", state.Call{Server: "a", Tool: "raw"}, state.Unsafe},
		{"by the product's name", state.Call{Server: "product", Tool: "raw"}, state.Unsafe},
		{"the call says so", state.Call{Server: "a", Tool: "raw", Effect: state.Safe}, state.Safe},
		{"the operator said so of the tool", state.Call{Server: "a", Tool: "do"}, state.Safe},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(s *router.Server, k *script) {
				s.Name, k.tools = "product", []router.Tool{{Name: "do"}, {Name: "raw"}}
			}).add("b", nil)
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				ctx, j := task{person: &person{}}.context(t)
				a, err := r.Do(ctx, c.call)
				if err != nil || a.Server != "a" || a.Tool != c.call.Tool || a.Endpoint != "http://a" || a.Session != "session-a" {
					t.Fatalf("%+v, %v", a, err)
				}
				if got := j.Known()[0].Effect; got != c.effect {
					t.Errorf("effect %s, want %s", got, c.effect)
				}
			})
		})
	}
	t.Run("a capability at a chosen server", func(t *testing.T) {
		f := newFleet().add("a", nil).add("b", nil)
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			call := work
			call.Server = "b"
			for range 20 {
				if a, err := r.Do(t.Context(), call); err != nil || a.Server != "b" {
					t.Fatalf("%+v, %v", a, err)
				}
			}
		})
	})
	t.Run("an unknown server", func(t *testing.T) {
		f := newFleet().add("a", nil)
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			_, err := r.Do(t.Context(), state.Call{Server: "nope", Tool: "do"})
			if rejections(t, err); !strings.Contains(err.Error(), "nope") {
				t.Errorf("%v", err)
			}
		})
	})
}

func TestADecisionAloneIsRecordedAndReplayed(t *testing.T) {
	f := newFleet().add("a", nil).add("b", nil).add("c", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := state.Call{Capability: "work", RouteOnly: true}
		ctx, j := task{}.context(t)
		first, err := r.Do(ctx, call)
		if err != nil || first.Server == "" || first.Session != "session-"+first.Server || len(f.calls) != 0 {
			t.Fatalf("%+v, %v after %d calls", first, err, len(f.calls))
		}
		for range 10 {
			ctx, _ = task{prior: j.Known()}.context(t)
			again, err := r.Do(ctx, call)
			first.Replayed = true
			if err != nil || !reflect.DeepEqual(again, first) {
				t.Fatalf("%+v, %v; want %+v", again, err, first)
			}
		}
	})
}

func TestASessionOfTheThreadStaysWithItsServer(t *testing.T) {
	f := newFleet().add("a", nil).add("b", nil).add("c", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Session = "thread"
		ctx, _ := task{}.context(t)
		for range 20 {
			if _, err := r.Do(ctx, call); err != nil {
				t.Fatal(err)
			}
		}
		went := f.servers()
		if len(slices.Compact(slices.Clone(went))) != 1 {
			t.Errorf("went to %v, want one server", went)
		}
		f.by[went[0]].answer = fails(router.CallError{Code: router.SessionExpired, Execution: state.NotExecuted})
		_, err := r.Do(ctx, call)
		if lost, ok := errors.AsType[*router.AttemptsError](err); !ok || lost.Code() != "MCP_SESSION_EXPIRED" || len(lost.Attempts) != 1 {
			t.Errorf("%v; want that the session is lost, and no call elsewhere", err)
		}
	})
}

// sessionBook is a ledgerBook that keeps sessions too.
type sessionBook struct {
	ledgerBook
	state.SessionStore
	put []state.Session
	err error
}

func (b *sessionBook) PutSession(_ context.Context, _ state.Lease, s state.Session) error {
	b.put = append(b.put, s)
	return b.err
}

func TestASessionBecomesPartOfTheThreadsStateOnce(t *testing.T) {
	f := newFleet().add("a", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book := &sessionBook{}
		j := state.NewJournal(state.Scope{Thread: "t", Task: "k"}, state.JournalOptions{Store: book, Lease: func() state.Lease { return state.Lease{} }})
		for range 3 {
			if _, err := r.Do(state.WithJournal(t.Context(), j), work); err != nil {
				t.Fatal(err)
			}
		}
		if len(book.put) != 1 || book.put[0].ID != "session-a" {
			t.Errorf("kept %+v, want one session", book.put)
		}
		book.err = errors.New("disk full")
		other := state.NewJournal(state.Scope{Thread: "u", Task: "k"}, state.JournalOptions{Store: book, Lease: func() state.Lease { return state.Lease{} }})
		if _, err := r.Do(state.WithJournal(t.Context(), other), work); !errors.Is(err, book.err) || len(f.calls) != 3 {
			t.Errorf("%v after %d calls; a session that cannot be kept stops the call", err, len(f.calls))
		}
	})
}

func TestAThreadWhoseServerIsGoneIsToldSo(t *testing.T) {
	f := newFleet().add("a", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		call := work
		call.Session = "thread"
		ctx, _ := task{}.context(t)
		if _, err := r.Do(ctx, call); err != nil {
			t.Fatal(err)
		}
		f.snapshot = &router.Snapshot{Version: 99}
		f.add("b", nil)
		_, err := r.Do(ctx, call)
		lost, ok := errors.AsType[*router.SessionLostError](err)
		if !ok || lost.Code() != "MCP_SESSION_EXPIRED" || lost.Server() != "a" || len(f.calls) != 1 {
			t.Fatalf("%v after %d calls", err, len(f.calls))
		}
		if a, err := r.Do(ctx, call); err != nil || a.Server != "b" {
			t.Errorf("%+v, %v; the next run opens a session elsewhere", a, err)
		}
	})
}

func TestASecondLossOfTheSessionGoesElsewhere(t *testing.T) {
	f := newFleet().add("a", func(s *router.Server, k *script) {
		s.Weight = 1e9
		k.answer = fails(router.CallError{Code: router.SessionExpired, Execution: state.NotExecuted})
	}).add("b", nil)
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		if _, err := r.Do(t.Context(), work); err != nil {
			t.Fatal(err)
		}
		if got := f.servers(); !slices.Equal(got, []string{"a", "a", "b"}) {
			t.Errorf("went to %v, want one new session and then elsewhere", got)
		}
	})
}
