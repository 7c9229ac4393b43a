package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// settle is how long the exit status and the last of stderr are waited for,
// once a child closed its output, before calls in flight are told.
const settle = 250 * time.Millisecond

// message is any JSON-RPC message of a server.
type message struct {
	ID     json.RawMessage               `json:"id"`
	Method string                        `json:"method"`
	Params json.RawMessage               `json:"params"`
	Result json.RawMessage               `json:"result"`
	Error  *protocol.JSONRPCErrorDetails `json:"error"`
}

// read runs until the child closes its output or ends.
func (s *stdio) read() {
	in := NewLines(s.child.stdout, s.limit)
	for {
		line, spoiled, err := in.Next()
		switch {
		case spoiled != nil:
			s.spoiled(spoiled)
		case len(line) > 0 && !s.dispatch(line) && err == nil:
			s.salvage(line) // the last line of one that died says less than its death
		}
		if err != nil {
			break
		}
	}
	// The child may still run; it is of no use without its output.
	wait := time.NewTimer(settle)
	defer wait.Stop()
	s.cause = errors.New("it closed its output")
	if s.deaf.Load() {
		s.cause = errors.New("it closed its input")
	}
	select {
	case <-s.child.exited:
		s.cause = s.child.status()
		select {
		case <-s.child.stderr.closed:
		case <-wait.C:
		}
	case <-wait.C:
	}
	close(s.dead)
}

// dispatch takes in a line; false: it is no message.
func (s *stdio) dispatch(line []byte) bool {
	if s.wire != nil {
		return s.wire.line(s, line)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return false
	}
	switch {
	case m.Method == "" && m.ID == nil && m.Result == nil && m.Error == nil:
		// A line of a log, as some servers write them to their output.
	case m.Method == "":
		s.deliver(&m)
	case len(m.ID) == 0:
		var n protocol.JSONRPCNotification
		if json.Unmarshal(line, &n) != nil {
			return false
		}
		s.mu.Lock()
		notify := s.notify
		s.mu.Unlock()
		if notify != nil {
			notify(n)
		}
	default:
		s.respond(line)
	}
	return true
}

func (s *stdio) deliver(m *message) {
	id, ok := requestID(m.ID)
	if !ok {
		s.asked.tally.add(WrongID)
		return
	}
	s.hand(id, answer{resp: &transport.JSONRPCResponse{
		JSONRPC: protocol.JSONRPC_VERSION, ID: protocol.NewRequestId(id), Result: m.Result, Error: m.Error,
	}})
}

func (s *stdio) hand(id int64, a answer) {
	if reply := s.asked.answered(id); reply != nil {
		reply <- a // has room for the one that won
	}
}

var errNotJSON = errors.New("the answer is no message of JSON-RPC")

// salvage takes what there is in a line that is no message. Servers print all
// manner of things to their output, and not all of it ends with its line.
func (s *stdio) salvage(line []byte) {
	if i := bytes.LastIndex(line, []byte(`{"jsonrpc"`)); i > 0 && s.dispatch(line[i:]) {
		line = line[:i]
	}
	s.spoiled(&SpoiledLine{ID: idAt(line, line), Why: errNotJSON})
}

// spoiled fails the request whose answer cannot be taken, where the line shows its id.
func (s *stdio) spoiled(l *SpoiledLine) {
	if id, ok := requestID(l.ID); ok {
		s.hand(id, answer{err: unknown(router.OutputInvalid, l.Why.Error(), l.Why)})
	}
}

// respond answers a request of the server. What does not fit into the queue is
// dropped: the reader may not wait for a child that does not read.
func (s *stdio) respond(line []byte) {
	var req transport.JSONRPCRequest
	var m message
	s.mu.Lock()
	serve := s.serve
	s.mu.Unlock()
	if json.Unmarshal(line, &req) != nil || json.Unmarshal(line, &m) != nil || serve == nil {
		return
	}
	req.Params = m.Params // as they are: a schema's members keep their order
	resp, err := serve(context.Background(), req)
	if err != nil {
		resp = transport.NewJSONRPCErrorResponse(req.ID, protocol.METHOD_NOT_FOUND, err.Error(), nil)
	}
	if resp == nil {
		return // it is answered later
	}
	data, err := json.Marshal(resp)
	if err != nil {
		return
	}
	s.out.offer(&frame{data: append(data, '\n')})
}
