package routed

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

const keyedCall = `{"name":"work","arguments":{"n":1},"_meta":{"` + metaKey + `":"k-1"}}`

func TestAKeyGivesTheAnswerThatItGaveBefore(t *testing.T) {
	for _, effect := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		f := newFleet()
		f.server("a", effect)
		f.answer = says("first")
		within(t, f, nil, func(t *testing.T, w *world) {
			result[toolResult](t, w.does(t.Context(), "tools/call", keyedCall))
			f.answer = says("second")
			got := result[toolResult](t, w.does(t.Context(), "tools/call", keyedCall))
			if got.Content[0].Text != "first" || f.made() != 1 || !strings.Contains(string(got.Meta["dev.junction/hop"]), `"replayed":true`) {
				t.Errorf("%s: %+v after %d calls", effect, got, f.made())
			}
			code, message, data := troubled(t, w.does(t.Context(), "tools/call", strings.Replace(keyedCall, `"n":1`, `"n":2`, 1)))
			if code != 4012 || data["code"] != "MCP_IDEMPOTENCY_CONFLICT" || data["execution"] != "not_executed" {
				t.Errorf("%s: other arguments: %d %s %v", effect, code, message, data)
			}
			if got := result[toolResult](t, w.does(t.Context(), "tools/call", `{"name":"work","arguments":{"n":1}}`)); got.Content[0].Text != "second" {
				t.Errorf("%s: without a key: %+v", effect, got)
			}
		})
	}
}

func TestCallsUnderOneKeyAtOnceAreMadeOnce(t *testing.T) {
	f := newFleet()
	f.server("a", state.Unsafe)
	f.answer = func(ctx context.Context, s *router.Server, c router.ToolCall) (*router.ToolResult, error) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return &router.ToolResult{Text: "done"}, nil
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got := result[toolResult](t, w.does(t.Context(), "tools/call", keyedCall)); got.Content[0].Text != "done" {
					t.Errorf("%+v", got)
				}
			})
		}
		all.Wait()
		if f.made() != 1 {
			t.Errorf("%d calls, want 1", f.made())
		}
	})
}

func TestWhatFailedWithoutEffectIsTriedAnewUnderItsKey(t *testing.T) {
	f := newFleet()
	f.server("a", state.Unsafe)
	f.answer = func(context.Context, *router.Server, router.ToolCall) (*router.ToolResult, error) {
		return nil, &router.CallError{Code: router.CapabilityMismatch, Execution: state.NotExecuted, Message: "unknown tool"}
	}
	within(t, f, nil, func(t *testing.T, w *world) {
		troubled(t, w.does(t.Context(), "tools/call", keyedCall))
		f.answer = says("fine")
		if got := result[toolResult](t, w.does(t.Context(), "tools/call", keyedCall)); got.Content[0].Text != "fine" {
			t.Errorf("%+v", got)
		}
	})
}

func TestKeysAreBoundedAndNeverForgottenInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k keys
		result := func(size int) []state.Record { return []state.Record{{Hop: "h", Result: make([]byte, size)}} }
		put := func(task string, size int) error {
			_, release, err := k.take(t.Context(), task)
			if err == nil {
				release(result(size))
			}
			return err
		}
		const half = answersKept / 2
		for _, task := range []string{"old", "newer", "newest"} {
			if err := put(task, half); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := k.take(t.Context(), "old"); err == nil || !strings.Contains(err.Error(), "no longer kept") {
			t.Errorf("a key whose answer gave way: %v", err)
		}
		if prior, release, err := k.take(t.Context(), "newest"); err != nil || len(prior) != 1 {
			t.Errorf("the newest: %v", err)
		} else {
			release(prior)
		}
		if k.held > answersKept || len(k.order) != 2 {
			t.Errorf("%d bytes of %d answers are held", k.held, len(k.order))
		}
		_, release, err := k.take(t.Context(), "nothing came of it")
		if err != nil {
			t.Fatal(err)
		}
		release(nil)
		if len(k.by) != 3 {
			t.Errorf("%d keys are known", len(k.by))
		}
		for n := range keysKept - 3 {
			if err := put(string(rune('!'+n)), 0); err != nil {
				t.Fatal(n, err)
			}
		}
		if err := put("one more", 0); err == nil {
			t.Error("more keys than are kept are taken")
		}
	})
}
