package router_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"junction/router"
	"junction/state"
	"junction/state/expr"
)

// verified is a server whose calls are lost, and whose verify tool "find" tells
// what became of them.
func verified(e state.Effect, lost reply, find reply) func(*router.Server, *script) {
	return func(s *router.Server, k *script) {
		s.Offers[0].Effect = e
		s.Offers[0].Verify = &router.Verify{Tool: "find"}
		k.tools = append(k.tools, router.Tool{Name: "find"})
		n, asked := 0, 0
		k.answer = func(ctx context.Context, _ int, c router.ToolCall) (*router.ToolResult, error) {
			if c.Tool == "find" {
				asked++
				return find(ctx, asked, c)
			}
			n++
			return lost(ctx, n, c)
		}
	}
}

var reset = router.CallError{Code: router.Transport, Execution: state.Unknown, Message: "reset"}

// says is the verify tool's structured answer.
func says(v any) reply {
	return func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Structured: v}, nil
	}
}

// toolsCalled lists the tools that were called, in order.
func toolsCalled(f *fleet) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, c := range f.calls {
		all = append(all, c.Call.Tool)
	}
	return all
}

var (
	happened    = map[string]any{"happened": true, "result": map[string]any{"by": "the books"}}
	notHappened = map[string]any{"happened": false}
)

// The arguments and the result of a hop whose outcome a verify tool settles.
func TestWhatAVerifyToolSaysHappenedIsTheResultAndNobodyIsAsked(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, r *router.Router, f *fleet, book *ledgerBook){
		"in the run that lost the answer": func(*testing.T, *router.Router, *fleet, *ledgerBook) {},
		"in the run after a crash": func(t *testing.T, r *router.Router, f *fleet, book *ledgerBook) {
			crashed(t, r, f, book)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet().add("a", verified(state.Unsafe, fails(reset), says(happened))).add("b", effect(state.Unsafe))
			f.snapshot.Servers[0].Weight = 1e9
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				book, someone := &ledgerBook{}, &person{}
				open(t, r, f, book)
				ctx, _ := task{book: book, person: someone}.context(t)
				a, err := r.Do(ctx, work)
				if err != nil || a.Server != "a" || a.Value.(map[string]any)["by"] != "the books" {
					t.Fatalf("%+v, %v; want what the verify tool found", a, err)
				}
				if len(someone.asked) != 0 || !slices.Equal(f.servers(), []string{"a", "a"}) || !slices.Equal(toolsCalled(f), []string{"do", "find"}) {
					t.Errorf("%d questions, calls of %v at %v", len(someone.asked), toolsCalled(f), f.servers())
				}
				rs, _ := book.Records(t.Context(), state.RecordFilter{})
				if want := []string{"1 a error unknown MCP_TRANSPORT", "2 a success executed "}; !slices.Equal(statuses(rs), want) || !rs[1].Final {
					t.Errorf("history %q, want %q and an end", statuses(rs), want)
				}
				ctx, _ = task{book: book, person: someone}.context(t)
				if again, err := r.Do(ctx, work); err != nil || again.Value.(map[string]any)["by"] != "the books" || len(f.calls) != 2 {
					t.Errorf("the next run: %+v, %v after %d calls", again, err, len(f.calls))
				}
			})
		})
	}
}

// Until the attempt's maximum has passed the first request may be under way.
func TestWhatAVerifyToolSaysDidNotHappenIsCalledAgainOnceTheMaximumHasPassed(t *testing.T) {
	lostOnce := failsFirst(1, reset, "a")
	f := newFleet().add("a", verified(state.Unsafe, lostOnce, says(notHappened)))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		someone := &person{}
		ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
		call := work
		call.Max = time.Minute
		a, err := r.Do(ctx, call)
		if err != nil || a.Value.(map[string]any)["by"] != "a" || len(someone.asked) != 0 {
			t.Fatalf("%+v, %v after %d questions; want the second call's answer", a, err, len(someone.asked))
		}
		if got := toolsCalled(f); !slices.Equal(got, []string{"do", "find", "find", "do"}) {
			t.Errorf("called %v", got)
		}
		if waited := f.calls[3].At.Sub(f.calls[0].At); waited < time.Minute {
			t.Errorf("called again after %v: the first request could still be under way", waited)
		}
	})
}

func TestWhatHappensAfterItWasSaidNotToHaveIsNotDoneAgain(t *testing.T) {
	late := func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
		if n == 1 {
			return says(notHappened)(ctx, n, c)
		}
		return says(happened)(ctx, n, c)
	}
	f := newFleet().add("a", verified(state.Unsafe, fails(reset), late))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{}}.context(t)
		a, err := r.Do(ctx, work)
		if err != nil || a.Value.(map[string]any)["by"] != "the books" || !slices.Equal(toolsCalled(f), []string{"do", "find", "find"}) {
			t.Fatalf("%+v, %v after calls of %v", a, err, toolsCalled(f))
		}
	})
}

func TestWhereTheVerifyToolCannotSayAPersonIsAskedWithTheEvidence(t *testing.T) {
	text := func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{Text: `{"happened": false}`}, nil
	}
	isError := func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
		return &router.ToolResult{IsError: true, Structured: notHappened, Text: "the books are closed"}, nil
	}
	for name, find := range map[string]reply{
		"it fails":                   fails(reset),
		"it is refused":              fails(router.CallError{Code: router.CapabilityMismatch, Execution: state.NotExecuted, Message: "no such tool"}),
		"it answers with an error":   isError,
		"it answers with text":       text,
		"it answers something else":  says(map[string]any{"found": false}),
		"it answers no yes or no":    says(map[string]any{"happened": "no"}),
		"it answers nothing":         says(nil),
		"its result breaks the rule": says(map[string]any{"happened": true, "result": map[string]any{"by": int64(7)}}),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet().add("a", verified(state.Unsafe, fails(reset), find)).add("b", effect(state.Unsafe))
			f.snapshot.Servers[0].Weight = 1e9
			f.snapshot.Contracts["work"] = router.Contract{Capability: "work",
				Output: []byte(`{"type":"object","properties":{"by":{"type":"string"}}}`)}
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				someone := &person{}
				ctx, _ := task{book: &ledgerBook{}, person: someone}.context(t)
				if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(someone.asked) != 1 {
					t.Fatalf("%v after %d questions; want one", err, len(someone.asked))
				}
				if q := someone.asked[0].Question; q["server"] != "a" || q["tool"] != "do" || q["code"] != "MCP_TRANSPORT" || q["arguments"] == nil {
					t.Errorf("the evidence is %v", q)
				}
				if got := toolsCalled(f); slices.Index(got[1:], "do") >= 0 || slices.Contains(f.servers(), "b") {
					t.Errorf("called %v at %v", got, f.servers())
				}
				ctx, _ = task{book: &ledgerBook{}}.context(t)
				_, err := r.Do(ctx, work)
				if _, unknown := errors.AsType[*router.UnknownOutcomeError](err); !unknown {
					t.Errorf("where nobody can be asked: %v", err)
				}
			})
		})
	}
}

func TestAVerifyToolThatAlwaysSaysNoDoesNotKeepAHopForEver(t *testing.T) {
	f := newFleet().add("a", verified(state.Unsafe, fails(reset), says(notHappened)))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{}}.context(t)
		ctx, cancel := context.WithTimeout(ctx, 24*time.Hour)
		defer cancel()
		call := work
		call.Max, call.Attempts = time.Minute, 3
		_, err := r.Do(ctx, call)
		calls := 0
		for _, tool := range toolsCalled(f) {
			if tool == "do" {
				calls++
			}
		}
		if err == nil || ctx.Err() != nil || calls > 3 {
			t.Errorf("%v after %d calls; three attempts were allowed", err, calls)
		}
	})
}

func TestAVerifyToolIsToldTheCallAndItsKey(t *testing.T) {
	with, err := expr.CompileValue(map[string]any{"reservation": "${key}", "x": "${with.x}"}, "with", "key")
	if err != nil {
		t.Fatal(err)
	}
	result, err := expr.CompileValue(map[string]any{"happened": "${result.text == \"yes\"}", "result": map[string]any{"by": "${result.text}"}}, "result")
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet().add("a", func(s *router.Server, k *script) {
		verified(state.Conditional, fails(reset), func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
			return &router.ToolResult{Text: "yes"}, nil
		})(s, k)
		s.Offers[0].Key, s.Offers[0].Ledger = "idempotencyKey", router.Ledger{Name: "billing", Keeps: time.Hour}
		s.Offers[0].Verify = &router.Verify{Tool: "find", With: with, Result: result}
	})
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		pass(2 * time.Hour) // the ledger has forgotten the key
		ctx, _ := task{book: book, person: someone}.context(t)
		a, err := r.Do(ctx, work)
		if err != nil || a.Value.(map[string]any)["by"] != "yes" || len(someone.asked) != 0 {
			t.Fatalf("%+v, %v after %d questions", a, err, len(someone.asked))
		}
		asked := f.calls[len(f.calls)-1].Call
		key := f.calls[0].Call.Arguments["idempotencyKey"]
		if asked.Tool != "find" || key == nil || asked.Arguments["reservation"] != key || asked.Arguments["x"] != int64(1) {
			t.Errorf("%s was asked with %v; the key was %v", asked.Tool, asked.Arguments, key)
		}
	})
}

func TestNothingIsVerifiedByAnotherServer(t *testing.T) {
	f := newFleet().add("a", verified(state.Unsafe, fails(reset), says(notHappened)))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		f.drop(func(*router.Server) bool { return true })
		f.add("b", verified(state.Unsafe, answers("b"), says(notHappened)))
		pass(time.Hour)
		ctx, _ := task{book: book, person: someone}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || slices.Contains(f.servers(), "b") {
			t.Errorf("%v after calls of %v at %v", err, toolsCalled(f), f.servers())
		}
	})
}

// A tool that is called by name is the offer's all the same.
func TestADirectCallOfAnOfferedToolIsVerifiedToo(t *testing.T) {
	f := newFleet().add("a", verified(state.Unsafe, fails(reset), says(happened)))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		ctx, _ := task{book: book, person: someone}.context(t)
		direct := state.Call{Server: "a", Tool: "do", With: work.With}
		if a, err := r.Do(ctx, direct); err != nil || a.Value.(map[string]any)["by"] != "the books" || len(someone.asked) != 0 {
			t.Errorf("%+v, %v, %d questions; want what the verify tool found", a, err, len(someone.asked))
		}
	})
}

// A registry gives the id of an instance to whoever registers under it.
func TestNothingIsVerifiedByWhoOnlyHasTheIDOfTheServer(t *testing.T) {
	f := newFleet().add("a", verified(state.Unsafe, fails(reset), says(notHappened)))
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		book, someone := &ledgerBook{}, &person{}
		crashed(t, r, f, book)
		f.drop(func(*router.Server) bool { return true })
		f.add("a", func(s *router.Server, k *script) {
			verified(state.Unsafe, answers("a"), says(notHappened))(s, k)
			s.Dial.URL = "http://elsewhere"
		})
		pass(time.Hour)
		ctx, _ := task{book: book, person: someone}.context(t)
		if _, err := r.Do(ctx, work); !errors.Is(err, errPaused) || len(someone.asked) != 1 || len(f.calls) != 1 {
			t.Errorf("%v after %d questions and calls of %v", err, len(someone.asked), toolsCalled(f))
		}
	})
}
