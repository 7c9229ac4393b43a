package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"junction/router"
	"junction/state"
)

// Bounds of what a server of the later era may ask a client of the earlier one in the
// course of one request.
const (
	mostRounds   = 10
	mostAtOnce   = 32
	mostPutOff   = 3 // rounds in a row without a question: "ask again later"
	inputResult  = "input_required"
	finalResult  = "complete"
	inputsMember = "inputRequests"
)

// rounds goes on with a request of an earlier client until its result is final: what
// the server asks in one is put to the client, and the request is made again with the
// answers.
func (h *behind) rounds(ctx context.Context, p *passage, o outcome) outcome {
	putOff := 0
	for round := 1; ; round++ {
		p.mu.Lock()
		plain := p.asked.modern || !p.modern || p.local(p.modern)
		p.mu.Unlock()
		if plain || o.fail != nil || o.reply.Error != nil {
			return o
		}
		switch kind := textIn(o.reply.Result, "resultType"); kind {
		case "", finalResult:
			return o
		case inputResult:
		default:
			return unfinished(router.OutputInvalid, fmt.Sprintf("the server answered with a result of a kind that the client does not know (%s)", clean(kind)))
		}
		if round > mostRounds {
			return unfinished(router.ServerError, fmt.Sprintf("the server asked for more after %d rounds of answers", mostRounds))
		}
		requests := member(o.reply.Result, inputsMember)
		answers, err := h.fulfil(ctx, requests)
		if err != nil {
			return unfinished(router.Cancelled, err.Error())
		}
		if len(answers) > 2 {
			putOff = 0
		} else if putOff++; putOff > mostPutOff || !pause(ctx, h.bridge.options.Backoff.Delay(h.server.Name, putOff)) {
			return unfinished(router.ServerOverload, "the server asked to be asked later, time and again")
		}
		params := setMember(dropMembers(p.asked.params, "inputResponses", "requestState"), "inputResponses", answers)
		if s := member(o.reply.Result, "requestState"); s != nil {
			params = setMember(params, "requestState", s)
		}
		p.mu.Lock()
		p.params, p.later = params, true
		p.mu.Unlock()
		o.reply, o.fail = h.line.Begin(ctx, p.request())()
	}
}

func unfinished(code router.Code, message string) outcome {
	return outcome{fail: &router.CallError{Code: code, Execution: state.Unknown, Message: message}}
}

// pause waits; false: ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fulfil puts all that a server asks in one result to the client at once, and returns
// the answers as the server wants them back.
func (h *behind) fulfil(ctx context.Context, requests json.RawMessage) (json.RawMessage, error) {
	type input struct {
		id, method string
		params     json.RawMessage
		response   json.RawMessage
		err        error
	}
	var inputs []*input
	for id, r := range members(object(requests)) {
		in := &input{id: string(id), method: textIn(object(r), "method"), params: member(r, "params")}
		if capability, _ := capabilityFor(in.method, in.params); capability == "" || capability == "tasks" {
			return nil, fmt.Errorf("the server asks for %s, which is no question", clean(in.method))
		}
		if err := able(h.bridge.down.who().Capabilities, in.method, in.params); err != nil {
			return nil, fmt.Errorf("the server asks for %s: %w", in.method, err)
		}
		inputs = append(inputs, in)
	}
	if len(inputs) > mostAtOnce {
		return nil, fmt.Errorf("the server asks %d questions at once, more than the %d that are let through", len(inputs), mostAtOnce)
	}
	all, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	for _, in := range inputs {
		asking.Go(func() {
			reply, err := h.bridge.front.Ask(all, in.method, h.attributed(in.method, in.params))
			if err == nil && reply.Error != nil {
				err = fmt.Errorf("the client answered with error %d (%s)", reply.Error.Code, clean(reply.Error.Message))
			}
			if in.response, in.err = reply.Result, err; err != nil {
				cancel()
			}
		})
	}
	asking.Wait()
	answers := []byte{'{'}
	var failures []error
	for _, in := range inputs {
		if in.err != nil {
			failures = append(failures, fmt.Errorf("the server asked for %s: %w", in.method, in.err))
			continue
		}
		answers = appendMember(answers, []byte(in.id), in.response)
	}
	return append(answers, '}'), errors.Join(failures...)
}
