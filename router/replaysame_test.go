package router_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

func TestAReplayedAnswerIsTheLiveOneToTheLastDigit(t *testing.T) {
	for _, e := range []state.Effect{state.Safe, state.Conditional, state.Unsafe} {
		f := newFleet().add("a", func(s *router.Server, k *script) {
			s.Offers[0].Effect = e
			k.answer = func(context.Context, int, router.ToolCall) (*router.ToolResult, error) {
				return &router.ToolResult{Structured: map[string]any{
					"big": int64(9007199254740993), "least": int64(-1 << 63), "tenth": 0.1, "whole": 3.0, "tiny": 5e-324, "huge": 1e300,
					"yes": true, "no": false, "nothing": nil, "text": "\u2028<&>\x00é", "list": []any{}, "object": map[string]any{},
				}}, nil
			}
		})
		inBubble(t, f, router.Options{}, func(t *testing.T, r *router.Router) {
			book := &ledgerBook{}
			ctx, j := task{book: book}.context(t)
			live, err := r.Do(ctx, work)
			if err != nil {
				t.Fatal(err)
			}
			if err := book.PutRecords(t.Context(), state.Lease{}, j.Take()); err != nil {
				t.Fatal(err)
			}
			ctx, _ = task{book: book}.context(t)
			again, err := r.Do(ctx, work)
			if err != nil || !again.Replayed || len(f.calls) != 1 {
				t.Fatalf("%+v, %v after %d calls", again, err, len(f.calls))
			}
			again.Replayed = false
			if diff := cmp.Diff(live, again); diff != "" {
				t.Errorf("%s (-live +replayed):\n%s", e, diff)
			}
		})
	}
}
