package routed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
	"junction/state/value"
)

// call is one hop under way. It outlives the request that began it where the server
// asks something and the client answers with another request.
type call struct {
	task   string
	of     Capability
	modern bool
	able   abilities
	cancel context.CancelFunc
	done   chan struct{} // closed once reply stands
	reply  mcp.Reply
	asks   chan *question // to whoever follows the call

	mu       sync.Mutex
	token    json.RawMessage // of progress; nil: none is wanted, or the request is over
	reported float64         // last told
	evidence any             // what is known of a call whose outcome is not
}

// call makes a tools/call, or goes on with one whose question the client answers.
func (r *Handler) call(ctx context.Context, q request) mcp.Reply {
	if q.State != "" {
		return r.goOn(ctx, q)
	}
	at := slices.IndexFunc(r.capabilities, func(c Capability) bool { return c.Name == q.Name })
	if at < 0 {
		return invalid("there is no tool %q", q.Name)
	}
	var with any
	if len(q.Arguments) > 0 && string(q.Arguments) != "null" {
		v, err := value.Parse(q.Arguments)
		if _, ok := v.(map[string]any); err != nil || !ok {
			return invalid("the arguments of %s are no object that can be read", q.Name)
		}
		with = v
	}
	key, fault := keyOf(q.Meta)
	if fault != nil {
		return mcp.Reply{Error: fault}
	}
	c := &call{of: r.capabilities[at], modern: q.modern, able: r.able(&q), done: make(chan struct{}), asks: make(chan *question)}
	if !r.begin(c, key) {
		return failure(context.Canceled, nil)
	}
	life, cancel := context.WithCancel(r.life)
	c.cancel = cancel
	r.work.Go(func() {
		defer cancel()
		defer close(c.done)
		c.reply = r.hop(life, c, key, with)
		r.mu.Lock()
		if r.calls[c.task] == c {
			delete(r.calls, c.task)
		}
		r.mu.Unlock()
	})
	return r.follow(ctx, c, q.Meta)
}

// begin gives the call its task: that of its key, else one of its own.
func (r *Handler) begin(c *call, key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return false
	}
	r.begun++
	c.task = "call-" + strconv.Itoa(r.begun)
	if key != "" {
		c.task = "key-" + state.Hash([]byte(c.of.Name + "\x00" + key))[:32]
	}
	if r.calls[c.task] == nil { // a second call under a key waits for the first, and reports nothing
		r.calls[c.task] = c
	}
	return true
}

// follow waits for what the client is to be answered: the call's end, or a question
// that the client takes away.
func (r *Handler) follow(ctx context.Context, c *call, meta map[string]json.RawMessage) mcp.Reply {
	c.mu.Lock()
	c.token = meta["progressToken"]
	c.mu.Unlock()
	defer func() { // nothing is reported after the answer
		c.mu.Lock()
		c.token = nil
		c.mu.Unlock()
	}()
	select {
	case <-c.done:
		return c.reply
	case q := <-c.asks:
		return r.park(q)
	case <-ctx.Done():
		c.cancel()
		<-c.done
		return c.reply
	}
}

// hop makes the call and words its end.
func (r *Handler) hop(ctx context.Context, c *call, key string, with any) mcp.Reply {
	var prior []state.Record
	if key != "" {
		kept, release, err := r.keys.take(ctx, c.task)
		if err != nil {
			return failure(err, nil)
		}
		prior = kept
		defer func() { release(prior) }()
	}
	j := r.options.Thread.Journal(c.task, c.of.Name, prior, r.asking(c))
	a, err := r.router.Do(state.WithJournal(ctx, j), state.Call{
		Capability: c.of.Name, Need: c.of.Need, Prefer: c.of.Prefer, With: with,
	})
	if key != "" {
		prior = j.Known()
	}
	r.options.Thread.Keep(j)
	if err != nil {
		return failure(err, c.known())
	}
	return r.result(a, c)
}

// result is an answer as a tool's result.
func (r *Handler) result(a state.Answer, c *call) mcp.Reply {
	text, structured, err := r.wording(a, c)
	if err != nil {
		return failure(err, nil)
	}
	made := map[string]any{"hop": a.Hop, "server": a.Server, "tool": a.Tool}
	if a.Replayed {
		made["replayed"] = true
	}
	result := map[string]any{
		"content": []any{map[string]any{"type": "text", "text": text}},
		"_meta":   map[string]any{"dev.junction/hop": made},
	}
	if structured != nil {
		result["structuredContent"] = structured
	}
	if a.IsError {
		result["isError"] = true
	}
	if c.modern {
		result = r.complete(result)
	}
	return answer(result)
}

// wording is an answer as text, and as structured content where it is an object that
// says more than a text.
func (r *Handler) wording(a state.Answer, c *call) (text string, structured json.RawMessage, err error) {
	object, whole := a.Value.(map[string]any)
	promised := len(r.plain(c.of).Output) > 0 && !a.IsError
	if text, plain := object["text"].(string); plain && len(object) == 1 && !promised {
		return text, nil, nil
	}
	raw, err := value.Encode(a.Value)
	if err != nil {
		return "", nil, fmt.Errorf("the answer of %s has no JSON form: %w", a.Server, err)
	}
	if !whole {
		return string(raw), nil, nil
	}
	return string(raw), raw, nil
}

// OnDecision implements [router.Observer].
func (*Handler) OnDecision(router.HopInfo, router.Decision) {}

// OnAttempt implements [router.Observer].
func (*Handler) OnAttempt(router.HopInfo, router.AttemptInfo) {}

// OnOutcome implements [router.Observer].
func (*Handler) OnOutcome(router.HopInfo, router.AttemptInfo, router.OutcomeInfo) {}

// OnProgress implements [router.Observer]: it goes to the client whose call it is of,
// as long as it rises; that of another attempt begins anew.
func (r *Handler) OnProgress(h router.HopInfo, _ router.AttemptInfo, p router.Progress) {
	r.mu.Lock()
	c := r.calls[h.Task]
	r.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock() // so that none is told after the answer
	if c.token == nil || p.Progress <= c.reported {
		return
	}
	c.reported = p.Progress
	told := map[string]any{"progressToken": c.token, "progress": p.Progress}
	if p.Total > 0 {
		told["total"] = p.Total
	}
	if p.Message != "" {
		told["message"] = p.Message
	}
	params, err := json.Marshal(told)
	if err != nil {
		return // no number: nothing that a client could use
	}
	r.client.Notify(mcp.Notification{Method: string(protocol.MethodNotificationProgress), Params: params})
}

func invalid(format string, args ...any) mcp.Reply {
	return mcp.Reply{Error: &mcp.RPCError{Code: protocol.INVALID_PARAMS, Message: fmt.Sprintf(format, args...)}}
}
