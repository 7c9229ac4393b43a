package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
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
	in := bufio.NewReaderSize(s.child.stdout, 64<<10)
	for {
		line, whole, err := readLine(in, s.limit)
		switch {
		case !whole:
			s.tooLarge(line)
		case len(line) > 0:
			s.dispatch(line)
		}
		if err != nil {
			break
		}
	}
	// The child may still run; it is of no use without its output.
	wait := time.NewTimer(settle)
	defer wait.Stop()
	s.cause = errors.New("it closed its output")
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

// readLine reads one line without its end. Of a line beyond limit it returns
// the beginning and whole false; the rest is skipped.
func readLine(in *bufio.Reader, limit int) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) <= limit {
			line = append(line, part...)
		} else {
			if len(line) == 0 {
				line = append(line, part[:min(len(part), 1024)]...)
			}
			whole = false
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, whole, err
		}
		return bytes.TrimRight(line, "\r\n"), whole, err
	}
}

func (s *stdio) dispatch(line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return // servers print all manner of things to their output
	}
	switch {
	case m.Method == "":
		s.deliver(&m)
	case len(m.ID) == 0:
		var n protocol.JSONRPCNotification
		if json.Unmarshal(line, &n) != nil {
			return
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

var idField = regexp.MustCompile(`"id"\s*:\s*(\d+)`)

// tooLarge fails the request whose answer was cut, where its id was seen.
func (s *stdio) tooLarge(start []byte) {
	if m := idField.FindSubmatch(start[:min(len(start), 1024)]); m != nil {
		if id, ok := requestID(m[1]); ok {
			s.hand(id, answer{err: unknown(router.OutputInvalid, errTooLarge.Error(), errTooLarge)})
		}
	}
}

// respond answers a request of the server. What does not fit into the queue is
// dropped: the reader may not wait for a child that does not read.
func (s *stdio) respond(line []byte) {
	var req transport.JSONRPCRequest
	s.mu.Lock()
	serve := s.serve
	s.mu.Unlock()
	if json.Unmarshal(line, &req) != nil || serve == nil {
		return
	}
	resp, err := serve(context.Background(), req)
	if err != nil {
		resp = transport.NewJSONRPCErrorResponse(req.ID, protocol.METHOD_NOT_FOUND, err.Error(), nil)
	}
	data, err := json.Marshal(resp)
	if err != nil {
		return
	}
	select {
	case s.queue <- &frame{data: append(data, '\n')}:
	default:
	}
}
