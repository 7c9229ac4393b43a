package bridge

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestAnEarlierServersQuestionIsAResultForALaterClientAndTheCallStaysOpen(t *testing.T) {
	t.Parallel()
	for _, onStream := range []bool{false, true} {
		h := asker(onStream, `{"message":"Who?","n":1.50}`, `{"message":"Sure?"}`)
		meet(t, nil, func(g *guest) {
			g.begin(true, "")
			g.ask(true, 1, "tools/call", `"name":"x","arguments":{}`, "")
			line := g.hear()
			want := `"inputRequests":{"1":{"method":"elicitation/create","params":{"message":"Who?","n":1.50}}}`
			if !strings.Contains(line, `"id":1,"result":{`) || !strings.Contains(line, `"resultType":"input_required"`) || !strings.Contains(line, want) {
				t.Fatalf("the client got %s", line)
			}
			lapse(4 * time.Minute) // less than the most
			g.ask(true, 2, "tools/call", `"name":"x","arguments":{},"inputResponses":{"1":{"action":"accept","content":{"n":2.50}}},"requestState":`+stateIn(line), "")
			line = g.hear()
			if !strings.Contains(line, `"id":2,"result":{`) || !strings.Contains(line, `"2":{"method":"elicitation/create","params":{"message":"Sure?"}}`) {
				t.Fatalf("the client got %s", line)
			}
			g.ask(true, 3, "tools/call", `"name":"x","inputResponses":{},"requestState":`+stateIn(line), "") // does not answer it
			line = g.hear()
			if !strings.Contains(line, `"id":3,"result":{`) || !strings.Contains(line, `"Sure?"`) {
				t.Fatalf("the client got %s", line)
			}
			g.ask(true, 4, "tools/call", `"name":"x","inputResponses":{"2":{"action":"decline"}},"requestState":`+stateIn(line), "")
			line = g.hear()
			if !strings.Contains(line, `"got":[{"action":"accept","content":{"n":2.50}},{"action":"decline"}]`) || !strings.Contains(line, `"resultType":"complete"`) {
				t.Errorf("the client got %s", line)
			}
			calls := 0
			for _, r := range h.visit(t).requests() {
				if strings.HasPrefix(r, "tools/call") {
					calls++
				}
			}
			if calls != 1 {
				t.Errorf("the tool was called %d times", calls)
			}
		}, h)
	}
}

func TestACallThatWaitsForAnAnswerIsGivenUpAfterAWhile(t *testing.T) {
	t.Parallel()
	h := asker(false, `{"message":"Who?"}`)
	ended := false
	inner := h.answer
	h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		defer func() { ended = ended || ctx.Err() != nil }()
		return inner(ctx, v, r)
	}
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/call", `"name":"x"`, "")
		line := g.hear()
		lapse(5*time.Minute + time.Second)
		synctest.Wait()
		if !ended {
			t.Error("the call is still open at the server")
		}
		g.ask(true, 2, "tools/call", `"name":"x","inputResponses":{"1":{"action":"accept"}},"requestState":`+stateIn(line), "")
		code, message, data := troubleOf(t, g.hear())
		if code != 4010 || data.Execution != state.Unknown || !strings.Contains(message, "not open any more") {
			t.Errorf("%d %s %+v", code, message, data)
		}
	}, h)
}

func TestAnAnswerMeansNothingToAnotherCall(t *testing.T) {
	t.Parallel()
	h := asker(false, `{"message":"Who?"}`)
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/call", `"name":"x"`, "")
		state := stateIn(g.hear())
		g.ask(true, 2, "tools/call", `"name":"y","inputResponses":{"1":{"action":"accept"}},"requestState":`+state, "")
		if _, message, _ := troubleOf(t, g.hear()); !strings.Contains(message, "not open any more") {
			t.Error(message)
		}
		g.ask(true, 3, "tools/call", `"name":"x","inputResponses":{"1":{"action":"accept"}},"requestState":"junction-forged"`, "")
		if _, message, _ := troubleOf(t, g.hear()); !strings.Contains(message, "not open any more") {
			t.Error(message)
		}
	}, h)
}

func TestAQuestionThatCouldBelongToSeveralCallsIsRefused(t *testing.T) {
	t.Parallel()
	h := earlierHouse()
	h.answer = hang
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		v := h.visit(t)
		if r := <-puts(g.t.Context(), v.events.Asked, "elicitation/create", `{}`); r.Error == nil || !strings.Contains(r.Error.Message, "no request is open") {
			t.Errorf("without a call: %+v", r.Error)
		}
		g.ask(true, 1, "tools/call", `"name":"x"`, "")
		synctest.Wait()
		if r := <-puts(g.t.Context(), v.events.Asked, "roots/list", `{}`); r.Error == nil || !strings.Contains(r.Error.Message, "not declared roots") {
			t.Errorf("beyond what the client can do: %+v", r.Error)
		}
		g.ask(true, 2, "tools/call", `"name":"x"`, "")
		synctest.Wait()
		if r := <-puts(g.t.Context(), v.events.Asked, "elicitation/create", `{}`); r.Error == nil || !strings.Contains(r.Error.Message, "2 requests are open") {
			t.Errorf("with two calls: %+v", r.Error)
		}
		g.silence()
	}, h)
}

func TestACancelWhileAQuestionIsAnsweredReachesTheServer(t *testing.T) {
	t.Parallel()
	h := asker(false, `{"message":"Who?"}`)
	inner := h.answer
	ended := false
	h.answer = func(ctx context.Context, v *visit, r *mcp.Request) (mcp.Reply, *router.CallError) {
		reply, fail := inner(ctx, v, r)
		if r.Method == "tools/call" {
			<-ctx.Done() // after the answer it works on
			ended = true
		}
		return reply, fail
	}
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/call", `"name":"x"`, "")
		g.ask(true, 2, "tools/call", `"name":"x","inputResponses":{"1":{"action":"accept"}},"requestState":`+stateIn(g.hear()), "")
		synctest.Wait()
		g.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		synctest.Wait()
		if !ended {
			t.Error("the server was not told")
		}
		g.silence()
	}, h)
}

func TestABridgeThatEndsLeavesNoCallOpen(t *testing.T) {
	t.Parallel()
	h := asker(false, `{"message":"Who?"}`)
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/call", `"name":"x"`, "")
		g.hear()
	}, h) // the bubble does not end while a goroutine lives
}

func TestAServerThatComesBackInAnEarlierEraIsNotCalledASecondTime(t *testing.T) {
	t.Parallel()
	h := laterHouse()
	h.effect, h.answer = safely, asksTwice
	meet(t, nil, func(g *guest) {
		g.begin(false, `{"elicitation":{},"roots":{},"sampling":{}}`)
		g.ask(false, 1, "tools/call", `"name":"x"`, "")
		asked := []string{g.hear(), g.hear()}
		v := h.visit(t)
		h.mu.Lock()
		h.modern, h.document = false, earlierDocument
		h.mu.Unlock()
		v.die()
		for _, line := range asked {
			g.say(`{"jsonrpc":"2.0","id":` + idIn(line) + `,"result":{"action":"accept"}}`)
		}
		lapse(time.Minute)
		if code, message, data := troubleOf(t, g.next()); code != 4010 || data.Execution != state.Unknown || !strings.Contains(message, "earlier protocol version") {
			t.Errorf("%d %s %+v", code, message, data)
		}
		for _, r := range h.visit(t).requests() {
			if strings.HasPrefix(r, "tools/call") {
				t.Errorf("the server was asked %s", r)
			}
		}
	}, h)
}

func TestAnAnswerToACallThatIsNotHereIsNoCallOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, more := range []string{`"requestState":"another server's"`, `"inputResponses":{"1":{}}`} {
		h := earlierHouse()
		h.effect = safely
		meet(t, nil, func(g *guest) {
			g.begin(true, "")
			g.ask(true, 1, "tools/call", `"name":"x",`+more, "")
			if _, message, _ := troubleOf(t, g.hear()); !strings.Contains(message, "not open any more") {
				t.Error(message)
			}
			for _, r := range h.visit(t).requests() {
				if strings.HasPrefix(r, "tools/call") {
					t.Errorf("the server was asked %s", r)
				}
			}
		}, h)
	}
	h := laterHouse() // which has such states itself
	meet(t, nil, func(g *guest) {
		g.begin(true, "")
		g.ask(true, 1, "tools/call", `"requestState":"junction-of another bridge"`, "")
		if got := g.hear(); !strings.Contains(got, `"id":1,"result"`) {
			t.Error(got)
		}
	}, h)
}
