package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// What is changed between a client and a server of different eras. A server that speaks
// both is spoken to in its client's (see [mcp.Greeting]):
//
//	client   server   change
//	earlier  later    initialize is answered from discover. logging/setLevel goes into each
//	                  request's _meta; subscriptions become subscriptions/listen. Questions
//	                  in a result are put to the client, and the request is made again with
//	                  its answers. resultType is taken out.
//	later    earlier  discover is answered from initialize. Results get resultType, the
//	                  server's name and what caches want to know. Questions of the server
//	                  become results; its call stays open until the client brings the
//	                  answers. A request's logLevel becomes logging/setLevel, and what is
//	                  less than that is not told. Subscriptions are served from what the
//	                  server tells everybody, and resources/subscribe.
//	both alike        nothing

// onlyEarlier are the methods that the later era does not have, onlyLater the others.
var (
	onlyEarlier = []string{
		string(protocol.MethodInitialize), string(protocol.MethodPing), string(protocol.MethodSetLogLevel),
		string(protocol.MethodResourcesSubscribe), string(protocol.MethodResourcesUnsubscribe),
		string(protocol.MethodTasksList), string(protocol.MethodTasksResult),
	}
	cacheable = []string{
		string(protocol.MethodToolsList), string(protocol.MethodPromptsList), string(protocol.MethodResourcesList),
		string(protocol.MethodResourcesTemplatesList), string(protocol.MethodResourcesRead),
	}
	// interactive are those in whose course a server may ask something.
	interactive = []string{
		string(protocol.MethodToolsCall), string(protocol.MethodPromptsGet), string(protocol.MethodResourcesRead),
	}
)

// passage is one request of the client on its way to the server and back.
type passage struct {
	behind *behind
	asked  *asked
	effect state.Effect
	again  bool
	ctx    context.Context
	cancel context.CancelFunc

	progress *progress

	mu     sync.Mutex
	params json.RawMessage // of this round
	later  bool            // which is not the first
	modern bool            // the era of the session that it left on last
	sent   time.Time       // then; zero: it has not left

	done      chan outcome   // for one that questions may interrupt
	questions chan *question // of a server of the earlier era
	pending   []*question    // put to the client, unanswered
	numbered  int            // of them, ever
	late      *time.Timer    // while it is parked
}

type outcome struct {
	reply mcp.Reply
	fail  *router.CallError
}

// begin implements [middle].
func (h *behind) begin(ctx context.Context, a *asked) func() mcp.Reply {
	switch {
	case a.modern && strings.HasPrefix(a.state, h.prefix):
		return func() mcp.Reply { return h.resume(ctx, a) }
	case a.modern && a.method == string(protocol.MethodSubscriptionsListen):
		return h.listen(ctx, a)
	}
	p := &passage{behind: h, asked: a, params: a.params, ctx: ctx, cancel: func() {}}
	p.effect, p.again = effectOf(a, h.server.Effect)
	p.progress = &progress{tell: func(n mcp.Notification) { h.up.tell(h, n) }, token: a.token}
	h.remember(a)
	if a.modern {
		return h.beginLater(ctx, p)
	}
	wait := h.line.Begin(ctx, p.request())
	return func() mcp.Reply {
		reply, fail := wait()
		return p.answer(h.rounds(ctx, p, outcome{reply, fail}))
	}
}

// beginLater begins a request of a client of the later era. Where the server may ask
// something in its course, which a server of the earlier era does while the request is
// open, the client may have its answer, the question, before the request ends.
func (h *behind) beginLater(ctx context.Context, p *passage) func() mcp.Reply {
	s := h.session()
	asks := slices.Contains(interactive, p.asked.method) && (s == nil || !s.Modern())
	if asks {
		p.ctx, p.cancel = context.WithCancel(h.life)
		p.done, p.questions = make(chan outcome, 1), make(chan *question, mostQuestions)
	}
	if asks || p.asked.level != "" {
		h.track(p)
	}
	wait := h.line.Begin(p.ctx, p.request())
	if !asks {
		return func() mcp.Reply {
			reply, fail := wait()
			return p.answer(outcome{reply, fail})
		}
	}
	if !h.run(func() {
		reply, fail := wait()
		p.done <- outcome{reply, fail}
	}) {
		p.cancel()
		return func() mcp.Reply {
			reply, fail := wait()
			return p.answer(outcome{reply, fail})
		}
	}
	return func() mcp.Reply { return p.next(ctx) }
}

func (p *passage) request() *Request {
	return &Request{Method: p.asked.method, Make: p.make, Again: p.again}
}

// make writes the request for a session.
func (p *passage) make(s Session) *mcp.Request {
	h := p.behind
	p.mu.Lock()
	p.modern, p.sent = s.Modern(), time.Now()
	r := &mcp.Request{Method: p.asked.method, Params: p.params, Progress: p.progress.report, Asked: p.questioned}
	p.mu.Unlock()
	if p.asked.token == nil {
		r.Progress = nil
	}
	switch {
	case p.local(s.Modern()), p.orphan(s.Modern()): // the request only keeps its place among the others
		r = &mcp.Request{Method: string(protocol.MethodServerDiscover)}
		if !s.Modern() {
			r.Method = string(protocol.MethodPing)
		}
	case s.Modern() && !p.asked.modern:
		if level := h.chosenLevel(); level != "" {
			meta := setMember(member(r.Params, "_meta"), protocol.MetaKeyLogLevel, quote(level))
			r.Params = setMember(r.Params, "_meta", meta)
		}
	}
	return r
}

// local reports whether a request that has nothing of its kind in the server's era is
// answered by the bridge.
func (p *passage) local(modern bool) bool {
	return p.asked.modern != modern && slices.Contains(onlyEarlier, p.asked.method)
}

// answer is what the client gets.
func (p *passage) answer(o outcome) mcp.Reply {
	p.progress.end()
	p.behind.untrack(p)
	p.cancel()
	p.mu.Lock()
	modern := p.modern
	p.mu.Unlock()
	a := p.asked
	if !a.modern && (o.fail != nil || o.reply.Error != nil) && a.method == string(protocol.MethodResourcesSubscribe) {
		p.behind.forget(textIn(a.params, "uri"))
	}
	switch {
	case o.fail != nil:
		return p.behind.failure(p, o.fail)
	case p.orphan(modern) && !a.modern:
		return p.behind.failure(p, unfinished(router.Cancelled,
			"the server came back in an earlier protocol version while the client answered its question").fail)
	case p.orphan(modern):
		return p.behind.lost(a)
	case p.local(modern):
		return p.behind.stead(p.ctx, a, o.reply)
	case o.reply.Error != nil || a.modern == modern:
		return o.reply
	case a.modern:
		o.reply.Result = p.behind.adorn(a.method, o.reply.Result)
	default:
		o.reply.Result = dropMembers(o.reply.Result, "resultType")
	}
	return o.reply
}

// failure is the client's answer where the server gave none.
func (h *behind) failure(p *passage, fail *router.CallError) mcp.Reply {
	p.mu.Lock()
	sent := p.sent
	p.mu.Unlock()
	f := failed{
		server: clean(h.server.Name), subject: p.asked.subject(), effect: p.effect,
		lacking: p.effect == state.Conditional && !p.again, sent: sent, now: time.Now(), status: h.line.Status(),
	}
	return f.reply(fail)
}

// adorn makes a result of the earlier era one of the later.
func (h *behind) adorn(method string, result json.RawMessage) json.RawMessage {
	d := h.latest()
	if slices.Contains(cacheable, method) {
		if member(result, "cacheScope") == nil {
			result = setMember(result, "cacheScope", json.RawMessage(`"private"`))
		}
		if member(result, "ttlMs") == nil {
			result = setMember(result, "ttlMs", json.RawMessage("0"))
		}
	}
	if meta := member(result, "_meta"); d != nil && member(meta, protocol.MetaKeyServerInfo) == nil {
		result = setMember(result, "_meta", setMember(meta, protocol.MetaKeyServerInfo, d.info()))
	}
	return setMember(result, "resultType", json.RawMessage(`"complete"`))
}
