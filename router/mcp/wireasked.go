package mcp

import (
	"context"
	"encoding/json"
	"errors"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// Requests of a server: so many may be open at once, an answer that is still being
// sent included; of refusals and answers to pings so many may be under way, and what
// is beyond that is dropped.
const (
	openRequests = 64 // which may hold as much together as one message may
	turnedAway   = 16
)

// Why a server waits for an answer no more.
var (
	errWithdrawn = errors.New("the server cancelled its request")
	errMoot      = errors.New("the request that the server asked for has ended")
)

// question is a request of the server that waits for its answer.
type question struct {
	cancel context.CancelCauseFunc
	own    *sought // on whose stream it came; nil: on none's
	size   int
}

// asked takes in a request of the server.
func (w *Wire) asked(m *envelope, own *sought, over link) {
	turn := w.events.Asked
	if own != nil && own.Request.Asked != nil {
		turn = own.Request.Asked
	}
	switch {
	case m.Method == string(protocol.MethodPing):
		w.turn(m, over, Reply{Result: json.RawMessage(`{}`)})
		return
	case turn == nil || !w.offers(m.Method):
		w.turn(m, over, fault(protocol.METHOD_NOT_FOUND, "this client does not serve "+quote(m.Method)+", and did not say that it does"))
		return
	}
	ctx, q, why := w.inbox.open(w.life, m, own, w.client.opts.MaxResponseBytes)
	if why != "" {
		w.turn(m, over, fault(protocol.INVALID_REQUEST, why))
		return
	}
	answer := func(r Reply) {
		if !w.inbox.answers(string(m.ID), q) {
			return // withdrawn, or answered
		}
		q.cancel(nil)
		w.send(m.ID, over, r, w.inbox.close)
	}
	ask := func() { turn(ctx, m.Method, m.Params, answer) }
	if own == nil {
		ask()
	} else if !own.while(ask) {
		answer(fault(protocol.INVALID_REQUEST, "the request that this belongs to has ended"))
	}
}

// offers reports whether what stands behind said that it can be asked for this.
func (w *Wire) offers(method string) bool {
	var capability string
	switch method {
	case string(protocol.MethodSamplingCreateMessage):
		capability = "sampling"
	case string(protocol.MethodListRoots):
		capability = "roots"
	case string(protocol.MethodElicitationCreate):
		capability = "elicitation"
	case methodTaskGet, methodTaskResult, methodTaskCancel, "tasks/list":
		capability = "tasks"
	default:
		return true // of an extension: who stands behind knows
	}
	all, _ := fieldsOf(w.greeting.Capabilities)
	return !absent(valueOf(all, capability))
}

func fault(code int, message string) Reply {
	return Reply{Error: &RPCError{Code: code, Message: message}}
}

// turn answers at once what nobody is asked for.
func (w *Wire) turn(m *envelope, over link, r Reply) {
	b := &w.inbox
	b.mu.Lock()
	full := b.turned == turnedAway
	if !full {
		b.turned++
	}
	b.mu.Unlock()
	if full {
		return
	}
	w.send(m.ID, over, r, func() {
		b.mu.Lock()
		b.turned--
		b.mu.Unlock()
	})
}

// send sends an answer off the caller's path, and calls sent when it is through.
func (w *Wire) send(id json.RawMessage, over link, r Reply, sent func()) {
	data, err := encodeReply(id, r)
	if err != nil {
		data, err = encodeReply(id, fault(protocol.INTERNAL_ERROR, "the answer has no JSON form"))
	}
	w.errands.Go(func() {
		defer sent()
		ctx, cancel := context.WithTimeout(w.life, farewell)
		defer cancel()
		if err == nil {
			if e := w.post(ctx, over, "", data); e != nil {
				err = e
			}
		}
		if err != nil {
			w.client.opts.Logger.Debug("the server was not told the answer to its request", "server", w.peer.server.Load().ID, "error", w.peer.secrets.text(excerpt(err.Error())))
		}
	})
}

// encodeReply writes an answer of ours. A result is sent as it was written.
func encodeReply(id json.RawMessage, r Reply) ([]byte, error) {
	name, value := `,"result":`, []byte(r.Result)
	if r.Error != nil {
		var err error
		if value, err = json.Marshal(r.Error); err != nil {
			return nil, err
		}
		name = `,"error":`
	}
	if absent(value) {
		value = []byte(`{}`)
	}
	if !json.Valid(value) {
		return nil, errors.New("the result is no JSON")
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, name...), value...)
	return oneLine(append(b, '}')), nil
}

// open enters a question under the server's id; all of them may hold most bytes.
func (b *inbox) open(life context.Context, m *envelope, own *sought, most int) (ctx context.Context, q *question, why string) {
	id, size := string(m.ID), len(m.ID)+len(m.Params)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.busy >= openRequests:
		return nil, nil, "too many requests of the server wait for an answer"
	case b.questions[id] != nil:
		return nil, nil, "a request of this id waits for its answer"
	case b.held > 0 && b.held+size > most:
		return nil, nil, "the requests of the server that wait for an answer are too large together"
	}
	q = &question{own: own, size: size}
	b.held += size
	ctx, q.cancel = context.WithCancelCause(life)
	if b.questions == nil {
		b.questions = map[string]*question{}
	}
	b.questions[id] = q
	b.busy++
	return ctx, q, ""
}

// answers takes a question out for its answer, whose sending close ends; false: it
// is not open any more.
func (b *inbox) answers(id string, q *question) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.questions[id] != q {
		return false
	}
	b.drop(id, q)
	return true
}

// drop takes a question out; b is locked.
func (b *inbox) drop(id string, q *question) {
	delete(b.questions, id)
	b.held -= q.size
}

func (b *inbox) close() {
	b.mu.Lock()
	b.busy--
	b.mu.Unlock()
}

// moot ends what was asked on the stream of a request that is over.
func (b *inbox) moot(own *sought) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, q := range b.questions {
		if q.own == own {
			b.drop(id, q)
			b.busy--
			q.cancel(errMoot)
		}
	}
}

// withdrawn takes in that the server cancels a request of its own.
func (b *inbox) withdrawn(params json.RawMessage) {
	all, _ := fieldsOf(params)
	id := string(valueOf(all, "requestId"))
	b.mu.Lock()
	q := b.questions[id]
	if q != nil {
		b.drop(id, q)
		b.busy--
	}
	b.mu.Unlock()
	if q != nil {
		q.cancel(errWithdrawn)
	}
}
