package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/state"
)

// What follows a failed attempt, in the words of the table.
const (
	toOther     = "another server"           // once, then the answer
	toAny       = "another server, or again" // with one server: the same one after a back-off
	toSame      = "the same server at once"
	toLedger    = "the shared ledger"
	toPerson    = "a person"
	toNobody    = "nobody"
	otherLedger = "other" // a ledger that never saw the key
)

func TestWhatFollowsEachCodeByEffect(t *testing.T) {
	const none, no, maybe = state.Execution(""), state.NotExecuted, state.Unknown
	all := func(s string) [3]string { return [3]string{s, s, s} }
	byEffect := [3]string{toAny, toLedger, toPerson}
	for _, c := range []struct {
		name string
		fail router.CallError
		next [3]string // safe, conditional, unsafe
	}{
		{"authentication required", router.CallError{Code: router.AuthRequired, Execution: no}, all(toOther)},
		{"authentication mismatch", router.CallError{Code: router.AuthMismatch, Execution: no}, all(toOther)},
		{"capability mismatch", router.CallError{Code: router.CapabilityMismatch, Execution: no}, all(toAny)},
		{"version unsupported", router.CallError{Code: router.VersionUnsupported, Execution: no}, all(toOther)},
		{"session expired", router.CallError{Code: router.SessionExpired, Execution: no}, all(toSame)},
		{"overload with Retry-After", router.CallError{Code: router.ServerOverload, RetryAfter: time.Second}, all(toAny)},
		{"overload 429", router.CallError{Code: router.ServerOverload, HTTPStatus: 429}, all(toAny)},
		{"overload, a bare 503", router.CallError{Code: router.ServerOverload, HTTPStatus: 503}, byEffect},
		{"server error", router.CallError{Code: router.ServerError, Execution: maybe}, byEffect},
		{"output invalid", router.CallError{Code: router.OutputInvalid, Execution: maybe}, byEffect},
		{"output invalid, surely executed", router.CallError{Code: router.OutputInvalid, Execution: state.Executed}, byEffect},
		{"idle timeout", router.CallError{Code: router.Timeout, Execution: maybe, Clock: "idle"}, byEffect},
		{"maximum timeout", router.CallError{Code: router.Timeout, Clock: "maximum"}, byEffect},
		{"transport, refused", router.CallError{Code: router.Transport, Execution: no}, all(toAny)},
		{"transport, reset", router.CallError{Code: router.Transport, Execution: maybe}, byEffect},
		{"transport, nothing said", router.CallError{Code: router.Transport, Execution: none}, byEffect},
		{"cancelled", router.CallError{Code: router.Cancelled, Execution: maybe}, all(toNobody)},
		{"idempotency conflict", router.CallError{Code: router.IdempotencyConflict, Execution: no}, all(toNobody)},
		{"a code that is not in the table", router.CallError{Code: "MCP_NEW"}, byEffect},
	} {
		for i, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
			t.Run(fmt.Sprintf("%s/%s", c.name, e), func(t *testing.T) { checkNext(t, c.fail, e, c.next[i]) })
		}
	}
}

// checkNext lets the first call, whichever server it goes to, fail, and looks
// where the hop goes from there.
func checkNext(t *testing.T, fail router.CallError, e state.Effect, want string) {
	t.Helper()
	f, first := newFleet(), true
	for _, id := range []string{"a", "b", "c"} {
		f.add(id, func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			s.Offers[0].Ledger.Name = "shared"
			if id == "c" {
				s.Offers[0].Ledger.Name = otherLedger
			}
			k.answer = nil
		})
	}
	answer := func(id string) reply {
		return func(ctx context.Context, n int, c router.ToolCall) (*router.ToolResult, error) {
			if first {
				first = false
				return fails(fail)(ctx, n, c)
			}
			return answers(id)(ctx, n, c)
		}
	}
	for id, k := range f.by {
		k.answer = answer(id)
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, _ := task{book: &ledgerBook{}, person: &person{}}.context(t)
		begun := time.Now()
		_, err := r.Do(ctx, work)
		went := f.servers()
		switch want {
		case toOther, toAny:
			if err != nil || len(went) != 2 || went[0] == went[1] {
				t.Fatalf("went to %v (%v), want another server", went, err)
			}
			if d := f.calls[1].At.Sub(begun); d != 0 {
				t.Errorf("waited %s before a different server", d)
			}
		case toSame:
			if err != nil || len(went) != 2 || went[0] != went[1] || f.calls[1].At != begun {
				t.Fatalf("went to %v (%v), want the same server at once", went, err)
			}
		case toLedger:
			if err != nil || len(went) != 2 || (went[0] == "c") != (went[1] == "c") {
				t.Fatalf("went to %v (%v), want a server that shares the ledger", went, err)
			}
			if went[0] != "c" && went[0] == went[1] {
				t.Errorf("went to %v while another server shares the ledger", went)
			}
			if k0, k1 := keyOf(f.calls[0].Call), keyOf(f.calls[1].Call); k0 == "" || k0 != k1 {
				t.Errorf("keys %q and %q, want the same", k0, k1)
			}
		case toPerson:
			if !errors.Is(err, errPaused) || len(went) != 1 {
				t.Fatalf("went to %v (%v), want a question and no second call", went, err)
			}
		case toNobody:
			attempts, ok := errors.AsType[*router.AttemptsError](err)
			if !ok || len(went) != 1 || attempts.Code() != string(fail.Code) {
				t.Fatalf("went to %v (%v), want the hop to fail with %s", went, err, fail.Code)
			}
		}
	})
}

func keyOf(c router.ToolCall) string {
	key, _ := c.Meta["dev.junction/idempotency-key"].(string)
	return key
}

func TestWithASingleServerTheTableDecidesWhetherItIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		fail  router.CallError
		again bool
	}{
		{"refused", router.CallError{Code: router.Transport, Execution: state.NotExecuted}, true},
		{"reset", router.CallError{Code: router.Transport, Execution: state.Unknown}, true},
		{"authentication mismatch", router.CallError{Code: router.AuthMismatch, Execution: state.NotExecuted}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet().add("a", func(_ *router.Server, k *script) { k.answer = failsFirst(1, c.fail, "a") })
			inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
				begun := time.Now()
				a, err := r.Do(t.Context(), work)
				if !c.again {
					attempts, ok := errors.AsType[*router.AttemptsError](err)
					if !ok || len(f.calls) != 1 {
						t.Fatalf("%d calls, %v; want one, and why there is no other", len(f.calls), err)
					}
					if _, why := errors.AsType[*router.NoCandidateError](attempts.Cause); !why {
						t.Errorf("cause %v, want that there is no candidate left", attempts.Cause)
					}
					return
				}
				if err != nil || a.Server != "a" || len(f.calls) != 2 {
					t.Fatalf("%d calls, %v; want the same server again", len(f.calls), err)
				}
				if d := f.calls[1].At.Sub(begun); d <= 0 || d > 250*time.Millisecond {
					t.Errorf("backed off %s before the same server, want up to 250 ms", d)
				}
			})
		})
	}
}

func TestAttemptsAreCountedAndRecorded(t *testing.T) {
	down := router.CallError{Code: router.Transport, Execution: state.NotExecuted, Message: "connection refused"}
	f := newFleet()
	for _, id := range []string{"a", "b", "c", "d"} {
		f.add(id, func(_ *router.Server, k *script) { k.answer = fails(down) })
	}
	inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
		ctx, j := task{}.context(t)
		_, err := r.Do(ctx, work)
		attempts, ok := errors.AsType[*router.AttemptsError](err)
		if !ok || len(attempts.Attempts) != 3 || attempts.Code() != "MCP_TRANSPORT" || attempts.Server() == "" || attempts.Hop() == "" {
			t.Fatalf("%v; want three attempts and their code, server and hop", err)
		}
		went := f.servers()
		slices.Sort(went)
		if len(slices.Compact(went)) != 3 {
			t.Errorf("went to %v; want three different servers", f.servers())
		}
		for _, part := range []string{"work failed after 3 attempts", "connection refused", "do on " + attempts.Server()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q does not say %q", err, part)
			}
		}
		records := j.Known()
		if len(records) != 3 || records[0].Final || !records[2].Final {
			t.Fatalf("records %v; want three, the last one final", statuses(records))
		}
		for _, rec := range records {
			if rec.Status != state.CallError || rec.Execution != state.NotExecuted || rec.Code != "MCP_TRANSPORT" || len(rec.Decision) == 0 {
				t.Errorf("record %+v", rec)
			}
		}
	})
}
