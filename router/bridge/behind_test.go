package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
)

// interrupted is a session in the middle of whose next request something happens.
type interrupted struct {
	*stand
	by func()
}

func (i *interrupted) Start(ctx context.Context, r *mcp.Request) func() (mcp.Reply, *router.CallError) {
	wait := i.stand.Start(ctx, r)
	i.by()
	return wait
}

// What was begun is seen to its end, also by one who finds that there is nobody any more
// to do so: the session would wait for it before it closes.
func TestARequestOfTheBridgesOwnThatTheEndOvertakesHoldsItUpNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBridge(nil)
		b.down.modern = true
		s := &scripted{t: t}
		var h *behind
		h = newBehind(b, Server{Name: "docs", Open: func(ctx context.Context, _ mcp.Greeting, e mcp.Events) (Session, *router.CallError) {
			v, fail := s.dial(ctx, e)
			if fail != nil {
				return nil, fail
			}
			return &interrupted{v.(*stand), func() { // as close begins
				h.end()
				h.mu.Lock()
				h.closed = true
				h.mu.Unlock()
			}}, nil
		}}, nil)
		if _, fail := h.line.Ready(t.Context()); fail != nil {
			t.Fatal(fail)
		}
		began := time.Now()
		h.drop(newSubscription(json.RawMessage(`{"resourceSubscriptions":["file:///a"]}`), nil, nil))
		h.close(context.Background())
		if got := s.session(1).methods(); !slices.Equal(got, []string{"resources/unsubscribe"}) {
			t.Errorf("sent were %v", got)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}
