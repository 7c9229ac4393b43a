package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// A server of the earlier era asks while a call is open, a client of the later one
// answers by calling again. So the call is parked: its client gets the question as a
// result with a requestState that names the call, which stays open at the server. The
// client's next request with that state brings the answers and waits on for the same
// call; nothing is called twice.
//
//	client    tools/call ──▶ ─────────────── ◀── input_required · tools/call, answers ──▶ ── ◀── result
//	server        tools/call ──▶ ◀── elicitation/create ·············· answer ──▶ ◀── result

const (
	parkedPrefix  = "junction-"
	mostQuestions = 64
	mostParked    = 1024
)

// orphan reports whether a request goes on with a call that the server has asked
// something about, while the server has nothing of the kind and the call is not here: it
// was another program's, or another server's, or of what the server was before. Made
// without its answers it would be a second call.
func (p *passage) orphan(modern bool) bool {
	switch {
	case modern:
		return false
	case !p.asked.modern:
		return p.later
	}
	return p.asked.state != "" || member(p.asked.params, "inputResponses") != nil
}

func (h *behind) track(p *passage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[p] = struct{}{}
}

func (h *behind) untrack(p *passage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, p)
}

// owner is the request that a question belongs to which came on no request's own
// stream: the only one that can put it to its client.
func (h *behind) owner(q *question) (*passage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var owner *passage
	n := 0
	why := errors.New("no request is open that it could belong to")
	for p := range h.open {
		if p.questions == nil || !p.left() {
			continue
		}
		if err := able(p.asked.capabilities, q.method, q.params); err != nil {
			why = err
			continue
		}
		owner = p
		n++
	}
	switch n {
	case 0:
		return nil, why
	case 1:
		return owner, nil
	}
	return nil, fmt.Errorf("%d requests are open, and nothing says which of them it belongs to", n)
}

// left reports whether the request was sent.
func (p *passage) left() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.sent.IsZero()
}

// questioned runs in the session's reader, for a request of the server on the
// request's own stream.
func (p *passage) questioned(ctx context.Context, method string, params json.RawMessage, answer func(mcp.Reply)) {
	if p.questions == nil {
		p.behind.questioned(ctx, method, params, answer)
		return
	}
	q := &question{ctx: ctx, method: method, params: params, answer: answer}
	err := able(p.asked.capabilities, method, params)
	if err == nil {
		err = p.put(q)
	}
	if err != nil {
		q.refuse(err)
	}
}

// put has the question put to the client with the next answer.
func (p *passage) put(q *question) error {
	switch capability, _ := capabilityFor(q.method, q.params); capability {
	case "sampling", "roots", "elicitation":
	default:
		return errors.New("the client's protocol version has no such question")
	}
	select {
	case p.questions <- q:
		return nil
	default:
		return errors.New("too many questions wait already")
	}
}

// next waits for what the client gets next: the server's answer, or its questions.
func (p *passage) next(ctx context.Context) mcp.Reply {
	for {
		select { // an answer makes questions idle
		case o := <-p.done:
			return p.answer(o)
		default:
		}
		if p.pending = slices.DeleteFunc(p.pending, func(q *question) bool { return q.ctx.Err() != nil }); len(p.pending) > 0 {
			return p.park()
		}
		select {
		case o := <-p.done:
			return p.answer(o)
		case q := <-p.questions:
			p.take(q)
			for more := true; more; {
				select {
				case q := <-p.questions:
					p.take(q)
				default:
					more = false
				}
			}
		case <-ctx.Done():
			p.release()
			return mcp.Reply{}
		}
	}
}

func (p *passage) take(q *question) {
	p.numbered++
	q.id = strconv.Itoa(p.numbered)
	p.pending = append(p.pending, q)
}

// release gives the call up.
func (p *passage) release() {
	p.progress.end()
	p.behind.untrack(p)
	p.cancel()
}

// park makes the pending questions the answer of the client's request, while the call
// stays open.
func (p *passage) park() mcp.Reply {
	h := p.behind
	requests := map[string]json.RawMessage{}
	for _, q := range p.pending {
		r := map[string]json.RawMessage{"method": quote(q.method)}
		if q.params != nil {
			r["params"] = dropMembers(h.attributed(q.method, q.params), "_meta")
		}
		requests[q.id] = marshal(r)
	}
	p.progress.end()
	token := h.prefix + rand.Text()
	h.mu.Lock()
	full := h.closed || len(h.parked) >= mostParked
	if !full {
		h.parked[token] = p
		p.late = time.AfterFunc(h.bridge.options.Question, func() {
			if h.unpark(token) != nil {
				h.log.Info("a call was given up because its client did not answer the server's question", "tool", p.asked.subject())
				p.release()
			}
		})
	}
	h.mu.Unlock()
	if full {
		p.release()
		return h.failure(p, &router.CallError{
			Code: router.Cancelled, Execution: state.Unknown, Message: "too many calls wait for answers to questions of the server, so this one was cancelled",
		})
	}
	result := h.adorn(p.asked.method, marshal(map[string]any{"inputRequests": requests, "requestState": token}))
	return mcp.Reply{Result: setMember(result, "resultType", json.RawMessage(`"input_required"`))}
}

// unpark takes a call out of those that wait; nil: it is not among them.
func (h *behind) unpark(token string) *passage {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.parked[token]
	delete(h.parked, token)
	return p
}

// resume goes on with a parked call: a brings the answers.
func (h *behind) resume(ctx context.Context, a *asked) mcp.Reply {
	p := h.unpark(a.state)
	if p == nil || p.asked.method != a.method || p.asked.tool != a.tool {
		if p != nil { // another's state: the call cannot be gone on with
			p.release()
		}
		return h.lost(a)
	}
	p.late.Stop()
	p.progress.turn(a.token)
	responses := member(a.params, "inputResponses")
	p.pending = slices.DeleteFunc(p.pending, func(q *question) bool {
		response := member(responses, q.id)
		if response != nil {
			q.answer(mcp.Reply{Result: response})
		}
		return response != nil
	})
	return p.next(ctx)
}

// lost is the answer to a request that goes on with a call that is not here.
func (h *behind) lost(a *asked) mcp.Reply {
	p := &passage{asked: a}
	p.effect, p.again = effectOf(a, h.server.Effect)
	return h.failure(p, &router.CallError{Code: router.Cancelled, Execution: state.Unknown, Message: fmt.Sprintf(
		"the call that this requestState belongs to is not open any more: it was kept %s for the answers, or this program was started anew",
		h.bridge.options.Question)})
}

// forgetParked gives up all calls that wait for answers.
func (h *behind) forgetParked() {
	h.mu.Lock()
	parked := h.parked
	h.parked = map[string]*passage{}
	h.mu.Unlock()
	for _, p := range parked {
		p.late.Stop()
		p.release()
	}
}
